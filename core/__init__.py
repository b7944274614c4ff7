"""The domain and the dialogue: scenarios, participants, the engine, model back ends. No Gradio and no SQL in here."""
