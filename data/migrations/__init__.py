"""Schema revisions, applied by :meth:`data.store.Store.migrate`. They ship with the program."""
