// What each provider's documentation says of the tools in a request: the pattern of names, and the part of JSON Schema that an
// input schema may use. The rules are stricter than the APIs in one point: a value has one type, which all of them take.

const everywhere = [
    'type', 'title', 'description', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'default', 'format',
    'minimum', 'maximum', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern', 'anyOf', '$ref', '$defs'
];

export const providers = {
    anthropic: {
        name: /^[a-zA-Z0-9_-]{1,64}$/,
        property: /^[a-zA-Z0-9_.-]{1,64}$/,
        keywords: new Set([...everywhere, '$schema', 'const', 'oneOf', 'allOf', 'multipleOf'])
    },
    openai: {
        name: /^[a-zA-Z0-9_-]{1,64}$/,
        property: /^[a-zA-Z0-9_.-]{1,64}$/,
        keywords: new Set([...everywhere, '$schema', 'const', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'])
    },
    gemini: {
        enumeratesText: true,
        name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
        property: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
        keywords: new Set([...everywhere, 'nullable', 'example', 'prefixItems', 'propertyOrdering', 'oneOf'])
    }
};

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const notAtTheRoot = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', '$ref'];

function* faultsOf(schema, provider, where) {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
        yield `${where} is no schema`;
        return;
    }
    for (const keyword of Object.keys(schema)) {
        if (!provider.keywords.has(keyword)) yield `${where} has ${keyword}`;
    }
    const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (Array.isArray(schema.type)) yield `${where} has several types`;
    else if (!types.includes(schema.type) && !alternatives && !schema.$ref) yield `${where} has no type`;
    if (schema.type === 'array' && !schema.items) yield `${where} is an array without items`;
    if (schema.enum?.some(value => value === '')) yield `${where} has an empty enumeration value`;
    if (provider.enumeratesText && schema.enum?.some(value => typeof value !== 'string')) yield `${where} enumerates more than text`;
    for (const name of schema.required ?? []) {
        if (!schema.properties?.[name]) yield `${where} requires ${name}, which it does not describe`;
    }
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
        if (!provider.property.test(name)) yield `${where} has a property with the name ${name}`;
        yield* faultsOf(inner, provider, `${where}.${name}`);
    }
    if (schema.items) yield* faultsOf(schema.items, provider, `${where}[]`);
    if (typeof schema.additionalProperties === 'object') yield* faultsOf(schema.additionalProperties, provider, `${where}.*`);
    for (const inner of alternatives ?? []) yield* faultsOf(inner, provider, `${where}|`);
}

/** What the provider does not take in the input schema of a tool; empty if the schema is accepted. */
export function schemaFaults(tool, provider) {
    const { name, schema, strict } = tool;
    const faults = [];
    if (schema?.type !== 'object') faults.push(`${name} is not an object at the root`);
    for (const keyword of notAtTheRoot) {
        if (schema?.[keyword]) faults.push(`${name} has ${keyword} at the root`);
    }
    // The strict mode of OpenAI takes a still smaller part, which quad does not promise.
    if (strict) faults.push(`${name} is sent in strict mode`);
    return [...new Set([...faults, ...faultsOf(schema, provider, name)])];
}
