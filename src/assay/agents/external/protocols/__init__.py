"""The wire formats that external agents speak: OpenAI's two, Anthropic's and Google's."""
