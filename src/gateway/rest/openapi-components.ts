import type { JsonSchema } from './route.ts';

/** Schemas with a title become components; the others stay inline. */
export class Components {
  readonly schemas: Record<string, unknown> = {};
  readonly #named = new Map<string, JsonSchema>();

  use(schema: JsonSchema): JsonSchema {
    const { title } = schema;
    if (typeof title !== 'string') return this.#inside(schema);
    const known = this.#named.get(title);
    if (known === undefined) {
      this.#named.set(title, schema);
      this.schemas[title] = this.#inside(schema);
    } else if (known !== schema) throw new Error(`Two schemas have the title "${title}"`);
    return { $ref: `#/components/schemas/${title}` };
  }

  #inside(schema: JsonSchema): JsonSchema {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#value(value)]));
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.#value(entry));
    return typeof value === 'object' && value !== null ? this.use(value as JsonSchema) : value;
  }
}
