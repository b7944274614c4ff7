"""One engine for every dialogue: a human's send button and a model's loop both call :meth:`DialogueEngine.say`."""
