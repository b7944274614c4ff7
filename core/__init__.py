"""The domain and the dialogue: scenarios, participants, the engine, model back ends. No Gradio and no SQL in here."""

__version__ = "0.1.0"
