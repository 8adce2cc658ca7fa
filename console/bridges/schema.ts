/** The parts of JSON Schema that the form knows. Other schemas are edited as JSON. */
export interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly writeOnly?: boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How a value is edited. */
export function kindOf(schema: Schema): 'choice' | 'object' | 'lines' | 'list' | 'text' | 'number' | 'flag' | 'json' {
  const { type, properties, items } = schema;
  if (schema.enum) return 'choice';
  if (type === 'object' && properties) return 'object';
  if (type === 'array' && items?.type === 'string' && !items.enum) return 'lines';
  if (type === 'array' && items) return 'list';
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'boolean' ? 'flag' : 'json';
}

/** What a form has at first: required values only, and one entry in lists that need one. */
export function emptyOf(schema: Schema): unknown {
  const kind = kindOf(schema);
  if (kind === 'object') {
    const { properties = {}, required = [] } = schema;
    const entries = Object.entries(properties).filter(([key]) => required.includes(key));
    return Object.fromEntries(entries.map(([key, property]) => [key, emptyOf(property)]));
  }
  if (kind === 'list') return schema.items && (schema.minItems ?? 0) > 0 ? [emptyOf(schema.items)] : [];
  if (kind === 'lines') return [];
  if (kind === 'choice') return schema.enum?.[0];
  return kind === 'text' ? '' : schema.default;
}

/** A value whose secrets are those of another one. */
export function withoutSecrets(schema: Schema, value: unknown, from: unknown): unknown {
  if (schema.writeOnly) return from;
  const before = (key: string | number) => (from as Record<string | number, unknown> | null | undefined)?.[key];
  if (Array.isArray(value)) return value.map((item, at) => withoutSecrets(schema.items ?? {}, item, before(at)));
  if (!isFields(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    withoutSecrets(schema.properties?.[key] ?? {}, part, before(key)),
  ]);
  return Object.fromEntries(entries);
}

/** The schema of a connection, if a configuration is a list of connections with names. */
export function connectionSchemaOf(schema: unknown): Schema | null {
  if (!isFields(schema) || !isFields(schema.properties)) return null;
  const { connections } = schema.properties;
  return isFields(connections) && isFields(connections.items) ? connections.items : null;
}

export const connectionsOf = (config: unknown): readonly Fields[] =>
  isFields(config) && Array.isArray(config.connections) ? config.connections.filter(isFields) : [];
