"""The model `local/smollm2` or `local/PATH.gguf`: runs in this process, without a network or a key. Imports Inspect.

Options (`--set options.NAME=VALUE`):

    context    tokens of prompt and reply together; 4096 by default
    threads    threads; 1 by default, because more are slower on a machine that is busy
    template   `none` continues the text of the messages without the chat template of the model

A tool call that is required, and a reply with a schema, are constrained while they are sampled: their JSON is always
valid. Whether to call a tool is left to the chat template, and not all models have one with tools.

With a seed, or a temperature of 0, the same request gets the same reply on the same machine.
"""

import json
from typing import Any, Literal

from anyio import to_thread
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelInfo,
    ModelOutput,
    ModelUsage,
    messages_to_openai,
    model_output_from_openai,
    modelapi,
    set_model_info,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo

from assay.models.llama import Engine, EngineSettings, get_engine, require_runtime
from assay.models.weights import find_weights

CONTEXT = 4096
THREADS = 1
MAX_REPLY = 1024
"""Tokens of a reply where the settings do not limit it."""


@modelapi(name="local")
class Local(ModelAPI):
    """A model that runs in this process."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect declares it; never changed
        context: int = CONTEXT,
        threads: int = THREADS,
        template: Literal["chat", "none"] = "chat",
    ) -> None:
        require_runtime()
        super().__init__(model_name, base_url, api_key, [], config)
        # Otherwise Inspect would search all models it knows for one with a similar name.
        set_model_info(f"local/{model_name}", ModelInfo())
        self._settings = EngineSettings(find_weights(model_name), context, threads)
        self._plain = template == "none"

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Return the model's reply; the event loop keeps running while it is computed."""
        required = [] if self._plain else _required(tools, tool_choice)
        request = _sampling(config)
        if self._plain:
            # Prompts of a study extend one another; what was computed for one serves the next.
            request |= {"prompt": "".join(message.text for message in input), "cache_prompt": True}
        elif required:
            request["messages"] = _messages(input, _describe(required))
        elif tools and tool_choice != "none":
            request["messages"] = await messages_to_openai(input)
            request["tools"] = [{"type": "function", "function": tool.model_dump(exclude_none=True)} for tool in tools]
        else:
            request["messages"] = _messages(input)
        schema = _call_schema(required) if required else _reply_schema(config)
        answer = await to_thread.run_sync(self._run, request, schema, abandon_on_cancel=True)
        if "error" in answer:
            output = ModelOutput.from_content(self.model_name, answer["error"]["message"], stop_reason="model_length")
            output.usage = ModelUsage()
            return output
        output = await model_output_from_openai(_as_chat(answer, self.model_name))
        if required:
            _read_call(output.choices[0], required)
        return output

    async def split_tokens(self, text: str) -> list[bytes]:
        """Return the tokens of a text."""
        return await to_thread.run_sync(lambda: self._engine.tokenize(text))

    def max_connections(self) -> int:
        """Run one request at a time; others wait for it."""
        return 1

    def should_retry(self, ex: BaseException) -> bool:
        """Never retry: a request that fails once in this process fails again."""
        return False

    @property
    def _engine(self) -> Engine:
        return get_engine(self._settings)

    def _run(self, request: dict[str, Any], schema: dict[str, Any] | None) -> dict[str, Any]:
        if schema:
            request["grammar"] = self._engine.grammar(schema)
        if not self._plain:
            return self._engine.chat(request)
        answer = self._engine.complete(request)
        needs_logprobs = "error" not in answer and "logprobs" in request and request["max_tokens"] == 1
        if needs_logprobs and not answer["choices"][0].get("logprobs"):
            # The token is a part of a character, for which llama.cpp returns none. Those of the most likely tokens do
            # not depend on which token is sampled, so a line break is forced.
            answer = self._engine.complete(request | {"logit_bias": [["\n", 1000]]})
        return answer


def _sampling(config: GenerateConfig) -> dict[str, Any]:
    asked = {
        "max_tokens": config.max_tokens or MAX_REPLY,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "seed": config.seed,
        "stop": config.stop_seqs,
        # From a cache, the last digits of probabilities may differ, and with them a reply.
        "cache_prompt": False,
    }
    if config.logprobs:
        asked |= {"logprobs": True, "top_logprobs": config.top_logprobs or 0, "n_probs": config.top_logprobs or 1}
    return {name: value for name, value in asked.items() if value is not None}


def _required(tools: list[ToolInfo], choice: ToolChoice) -> list[ToolInfo]:
    """Return the tools of which one must be called."""
    if isinstance(choice, ToolFunction):
        return [tool for tool in tools if tool.name == choice.name]
    return tools if choice == "any" else []


def _describe(tools: list[ToolInfo]) -> str:
    lines = [f"{tool.name}: {tool.description} Arguments: {_dump(tool)}" for tool in tools]
    return "\n".join(["Answer with a call of a tool, in JSON.", *lines])


def _dump(tool: ToolInfo) -> str:
    return json.dumps(tool.parameters.model_dump(exclude_none=True)["properties"], ensure_ascii=False)


def _call_schema(tools: list[ToolInfo]) -> dict[str, Any]:
    """Return the schema of a call: of its arguments if there is one tool, of its name and arguments otherwise."""
    arguments = [tool.parameters.model_dump(exclude_none=True) for tool in tools]
    if len(tools) == 1:
        return arguments[0]
    calls = [
        {
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [tool.name]}, "arguments": schema},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool, schema in zip(tools, arguments, strict=True)
    ]
    return {"anyOf": calls}


def _reply_schema(config: GenerateConfig) -> dict[str, Any] | None:
    return config.response_schema.json_schema.model_dump(exclude_none=True) if config.response_schema else None


def _read_call(choice: ChatCompletionChoice, tools: list[ToolInfo]) -> None:
    """Replace the text of a constrained reply by the tool call that it is; one that was cut off stays text."""
    try:
        content = json.loads(choice.message.text)
    except ValueError:
        return
    name, arguments = (tools[0].name, content) if len(tools) == 1 else (content["name"], content["arguments"])
    choice.message.content = ""
    choice.message.tool_calls = [ToolCall(id="call-0", function=name, arguments=arguments)]
    choice.stop_reason = "tool_calls"


def _messages(input: list[ChatMessage], instruction: str = "") -> list[dict[str, str]]:
    """Return a conversation as plain text, because most chat templates of small models know nothing else."""
    system = [instruction, *(message.text for message in input if message.role == "system")]
    others = [
        {"role": "assistant" if message.role == "assistant" else "user", "content": _text(message)}
        for message in input
        if message.role != "system"
    ]
    first = [{"role": "system", "content": "\n\n".join(filter(None, system))}] if any(system) else []
    return first + others


def _text(message: ChatMessage) -> str:
    if isinstance(message, ChatMessageAssistant) and message.tool_calls:
        calls = [json.dumps({"name": call.function, "arguments": call.arguments}) for call in message.tool_calls]
        return "\n".join(filter(None, [message.text, *calls]))
    return message.text


def _as_chat(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an answer as a chat completion of the model `name`; a completion of plain text becomes one."""
    choices = []
    for choice in answer["choices"]:
        message = choice.get("message") or {"role": "assistant", "content": choice.get("text", "")}
        message.setdefault("content", "")
        choices.append({**choice, "message": message})
    return {**answer, "object": "chat.completion", "model": name, "choices": choices}
