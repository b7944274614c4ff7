"""What is kept: tables, sessions, repositories, migrations, importers, exporters and the shipped scenario library."""
