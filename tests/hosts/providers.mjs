// The part of each provider's API that the hosts use: where a request lists tools and results of calls, and how a reply looks.
// An adapter reads and writes messages. It must not know quad, nor which host is calling.
//
//   tools(body)      [{ name, namespace?, description, schema, strict }] in the order in which they are sent
//   results(body)    [text] of the results of tool calls that the conversation holds
//   reply(action)    { type, text } of a response that calls `action.call` (a tool of the list) or says `action.say`

const events = list =>
    ({ type: 'text/event-stream', text: list.map(([name, data]) => `${name ? `event: ${name}\n` : ''}data: ${data}\n\n`).join('') });
const json = value => ({ type: 'application/json', text: JSON.stringify(value) });
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

/** The text of a result, which is a string, a list of blocks with text, or any other JSON. */
function textOf(content) {
    if (typeof content === 'string') return content;
    if (Array.isArray(content)) return content.map(block => block.text ?? JSON.stringify(block)).join('\n');
    return JSON.stringify(content ?? '');
}

// --- Anthropic: Messages ---------------------------------------------------------------------------------------------

const anthropic = {
    handles: path => path.endsWith('/v1/messages'),
    tools: body => (body.tools ?? []).map(tool => ({ ...tool, schema: tool.input_schema })),
    results: body =>
        (body.messages ?? [])
            .flatMap(message => (Array.isArray(message.content) ? message.content : []))
            .filter(block => block.type === 'tool_result')
            .map(block => textOf(block.content)),
    reply({ call, say, id }, body) {
        const block = call
            ? { type: 'tool_use', id, name: call.name, input: call.arguments }
            : { type: 'text', text: say };
        const message = {
            id: `msg_${id}`, type: 'message', role: 'assistant', model: body.model, content: [block],
            stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null, usage
        };
        if (!body.stream) return json(message);
        const delta = call
            ? { type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) }
            : { type: 'text_delta', text: say };
        const list = [
            { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
            { type: 'content_block_start', index: 0, content_block: call ? { ...block, input: {} } : { type: 'text', text: '' } },
            { type: 'content_block_delta', index: 0, delta },
            { type: 'content_block_stop', index: 0 },
            { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage },
            { type: 'message_stop' }
        ];
        return events(list.map(event => [event.type, JSON.stringify(event)]));
    }
};

// --- OpenAI: Responses -----------------------------------------------------------------------------------------------

const responses = {
    handles: path => path.endsWith('/responses'),
    // A namespace groups the functions of one server; the model calls them by namespace and name.
    tools: body =>
        (body.tools ?? []).flatMap(tool =>
            tool.type === 'namespace'
                ? tool.tools.map(inner => ({ ...inner, namespace: tool.name, schema: inner.parameters }))
                : [{ ...tool, name: tool.name ?? tool.type, schema: tool.parameters }]
        ),
    results: body =>
        (Array.isArray(body.input) ? body.input : [])
            .filter(item => item.type === 'function_call_output')
            .map(item => textOf(item.output)),
    reply({ call, say, id }, body) {
        const item = call
            ? {
                  type: 'function_call', id: `fc_${id}`, call_id: id, name: call.name, status: 'completed',
                  arguments: JSON.stringify(call.arguments), ...(call.namespace && { namespace: call.namespace })
              }
            : {
                  type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed',
                  content: [{ type: 'output_text', text: say, annotations: [] }]
              };
        const response = { id: `resp_${id}`, object: 'response', status: 'completed', model: body.model, output: [item], usage };
        if (!body.stream) return json(response);
        const list = [
            { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
            { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
            { type: 'response.output_item.done', output_index: 0, item },
            { type: 'response.completed', response }
        ];
        return events(list.map((event, number) => [event.type, JSON.stringify({ ...event, sequence_number: number })]));
    }
};

// --- OpenAI: Chat Completions ----------------------------------------------------------------------------------------

const chat = {
    handles: path => path.endsWith('/chat/completions'),
    tools: body => (body.tools ?? []).map(({ function: tool }) => ({ ...tool, schema: tool.parameters })),
    results: body => (body.messages ?? []).filter(message => message.role === 'tool').map(message => textOf(message.content)),
    reply({ call, say, id }, body) {
        const calls = call && [
            { index: 0, id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } }
        ];
        const message = { role: 'assistant', content: call ? null : say, ...(calls && { tool_calls: calls }) };
        const finish = call ? 'tool_calls' : 'stop';
        const counts = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
        const base = { id: `chatcmpl_${id}`, created: 0, model: body.model };
        if (!body.stream) {
            const choices = [{ index: 0, message, finish_reason: finish }];
            return json({ ...base, object: 'chat.completion', choices, usage: counts });
        }
        const chunk = (delta, reason) => ({
            ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }]
        });
        const list = [chunk(message, null), { ...chunk({}, finish), usage: counts }];
        return events([...list.map(event => ['', JSON.stringify(event)]), ['', '[DONE]']]);
    }
};

// --- Gemini: generateContent -----------------------------------------------------------------------------------------

const gemini = {
    handles: path => /:(stream)?generateContent$/i.test(path),
    tools: body =>
        (body.tools ?? [])
            .flatMap(tool => tool.functionDeclarations ?? [])
            .map(tool => ({ ...tool, schema: tool.parametersJsonSchema ?? tool.parameters })),
    results: body =>
        (body.contents ?? [])
            .flatMap(content => content.parts ?? [])
            .filter(part => part.functionResponse)
            .map(part => textOf(part.functionResponse.response)),
    reply({ call, say, id }, body, path) {
        const part = call ? { functionCall: { id, name: call.name, args: call.arguments } } : { text: say };
        const reply = {
            candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
            usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
            modelVersion: 'stand-in', responseId: id
        };
        return /:stream/.test(path) ? events([['', JSON.stringify(reply)]]) : json(reply);
    }
};

export const adapters = [anthropic, responses, chat, gemini];
