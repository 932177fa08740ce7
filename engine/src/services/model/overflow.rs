//! How providers say that a request is longer than the model's window.

/// Wording of errors, in lower case; `*` stands for any text between.
///
/// The sources are the providers' error texts as they are quoted in the code and the trackers of Pi, OpenCode and
/// OpenClaw, which recognise them for the same purpose.
const WORDINGS: &[&str] = &[
    // Codes and types of errors: OpenAI and many others, Anthropic.
    "context_length_exceeded",
    "context length exceeded",
    "context_window_exceeded",
    "context window exceeded",
    "request_too_large",
    "request entity too large",
    // Anthropic, Bedrock, Vertex, Ollama.
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "input too long",
    "too long for requested model",
    "input length and `max_tokens` exceed context limit",
    "exceed context limit",
    // OpenAI, LiteLLM, OpenRouter, vLLM, Groq, Mistral.
    "maximum context length",
    "exceeds the context window",
    "exceeds model context window",
    "context window exceeds limit",
    "reduce the length of the messages",
    "maximum model length",
    "exceeded max context length",
    "maximum input length of",
    "maximum allowed input length",
    // Google.
    "input token count*exceeds the maximum",
    "exceeds the maximum number of*tokens",
    "input exceeds*maximum number of tokens",
    // llama.cpp, LM Studio, SGLang, Together, DS4.
    "exceeds the available context size",
    "context size has been exceeded",
    "greater than the context length",
    "longer than the model's context length",
    "but the configured context size is",
    // xAI, Kimi, MiniMax, Z.AI, Copilot, Alibaba, Cohere.
    "maximum prompt length is",
    "exceeded model token limit",
    "tokens in request more than max tokens allowed",
    "prompt token count*exceeds the limit of",
    "range of input length should be",
    "total tokens*exceeds*max",
    "too many tokens",
    "token limit exceeded",
    "上下文过长",
    "上下文超出",
    "上下文长度超",
    "超出最大上下文",
    "请压缩上下文",
];

/// Wording that speaks of tokens and of limits and still is no overflow: limits on rates, bills, and services that are
/// busy.
const VETOES: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "tokens per minute",
    "tokens per min",
    "tokens per day",
    "(tpm)",
    "throttling",
    "quota",
    "billing",
    "service unavailable",
];

/// Does an error of a provider say that the request is longer than the model's window?
///
/// For messages and codes of errors only; a text of a conversation may speak of such things without being one.
pub fn is_overflow(message: &str) -> bool {
    let message = message.to_lowercase();
    WORDINGS.iter().any(|wording| says(&message, wording)) && !VETOES.iter().any(|veto| message.contains(veto))
}

/// Do the parts of the wording stand in the message, in their order?
fn says(message: &str, wording: &str) -> bool {
    let mut rest = message;
    wording.split('*').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wording_of_a_provider_is_recognised() {
        for message in [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "prompt is too long: 213462 tokens > 200000 maximum",
            "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"Request exceeds the maximum size\"}}",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
            "the request exceeds the available context size. try increasing the context size",
            "Context size has been exceeded.",
            "Trying to keep the first 9000 tokens when context the overflows is greater than the context length",
            "Input validation error: input (9000 tokens) is longer than the model's context length (8192 tokens)",
            "Prompt has 9000 tokens, but the configured context size is 8192 tokens",
            "This model's maximum prompt length is 131072 but the request contains 200000 tokens",
            "Invalid request: Your request exceeded model token limit: 262144",
            "invalid params, context window exceeds limit (2013)",
            "prompt token count of 140000 exceeds the limit of 128000",
            "Range of input length should be [1, 129024]",
            "Please reduce the length of the messages or completion.",
            "ollama error: prompt too long; exceeded max context length by 12 tokens",
            "Input is too long for requested model.",
            "total tokens 9000 exceeds the max of 8192",
            "error code: context_length_exceeded",
            "请求上下文过长",
        ] {
            assert!(is_overflow(message), "{message}");
        }
    }

    #[test]
    fn limits_on_rates_and_other_errors_are_not_taken_for_one() {
        for message in [
            "Rate limit reached for gpt-x on tokens per min (TPM): Limit 10000, Requested 12000. Too many tokens",
            "ThrottlingException: Too many tokens, please wait before trying again. Throttling error",
            "You exceeded your current quota, please check your plan and billing details",
            "Too Many Requests",
            "Service unavailable: input is too long in the queue",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "Let us look into the context overflow bug",
            "",
        ] {
            assert!(!is_overflow(message), "{message}");
        }
    }

    #[test]
    fn no_wording_vetoes_itself_or_is_written_in_capitals() {
        for wording in WORDINGS {
            assert!(is_overflow(&wording.replace('*', " … ")), "{wording}");
        }
    }
}
