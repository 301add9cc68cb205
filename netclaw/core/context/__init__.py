"""What a model is shown beside the conversation, and how large all of it is."""
