import type { JsonSchema } from '../route.ts';

/** A schema in the notation of TypeScript types. `depth` is the indentation level. */
export function typeOf(schema: JsonSchema, depth = 0): string {
  const pad = '  '.repeat(depth + 1);
  if (Array.isArray(schema.oneOf)) return schema.oneOf.map((entry: JsonSchema) => typeOf(entry, depth)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, depth)).join(' | ');
  if (schema.type === 'null') return 'null';
  if (schema.type === 'array') {
    const items = typeOf((schema.items ?? {}) as JsonSchema, depth);
    return items.includes(' | ') && !items.includes('\n') ? `(${items})[]` : `${items}[]`;
  }
  if (schema.type === 'object') {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
    if (properties.length === 0) return '{ … }';
    const required = (schema.required ?? []) as readonly string[];
    const lines = properties.map(([name, property]) => {
      const words = typeof property.description === 'string' ? `  // ${property.description}` : '';
      return `${pad}${name}${required.includes(name) ? '' : '?'}: ${typeOf(property, depth + 1)}${words}`;
    });
    return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
  }
  const type = String(schema.type ?? 'any');
  const { minLength, minimum, maximum, default: fallback } = schema;
  const limits = [
    minLength === 1 && 'not empty',
    Number(minLength) > 1 && `at least ${minLength} characters`,
    minimum !== undefined && `from ${minimum}`,
    maximum !== undefined && `to ${maximum}`,
    fallback !== undefined && `default ${JSON.stringify(fallback)}`,
  ].filter(Boolean);
  return limits.length > 0 ? `${type} (${limits.join(', ')})` : type;
}
