"""The faces of the product: pages in the browser and the command line. No logic and no queries of their own."""
