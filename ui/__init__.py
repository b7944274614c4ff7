"""The faces of the product: pages in the browser and the command line. No logic and no queries of their own."""

import os

# Gradio reads these when it is imported, and importing any module of this package comes first.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# A summary of all events so far, made again at every event, that grows with the number of events.
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")
