import { isFields } from '../../control/fields.ts';
import type { JsonSchema } from '../model/bridge-kind.ts';
import { isGroupName, isSecretName } from './secret-text.ts';

/** Schemas of strangers may lead anywhere: so many that apply to one place are looked at. */
const MAX_APPLYING = 100;

/** Keywords whose schemas apply to the same value. */
const SAME_VALUE = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'then',
  'else',
  'dependentSchemas',
] as const;

/**
 * A place in a configuration, and what is known of it: whether its schema says that it is a secret (`writeOnly`, `format: password`),
 * or where `byName` its name does. All within a secret is secret, but what is called `credentials`.
 */
export class SecretPlace {
  readonly isSecret: boolean;
  readonly #root: unknown;
  readonly #schemas: readonly JsonSchema[];
  readonly #byName: boolean;
  readonly #inherits: boolean;

  private constructor(
    root: unknown,
    schemas: readonly JsonSchema[],
    byName: boolean,
    name: string,
    inherited: boolean,
  ) {
    this.#root = root;
    this.#schemas = schemas;
    this.#byName = byName;
    const isMarked = schemas.some(({ writeOnly, format }) => writeOnly === true || format === 'password');
    this.isSecret = inherited || isMarked || (byName && isSecretName(name));
    this.#inherits = inherited || isMarked || (this.isSecret && !isGroupName(name));
  }

  /** The whole of a configuration with this schema, which may be anything. */
  static whole(schema: unknown, { byName }: { readonly byName: boolean }): SecretPlace {
    return new SecretPlace(schema, applying(schema, [schema]), byName, '', false);
  }

  key(name: string): SecretPlace {
    // Patterns of strangers are not run: what they may mean applies.
    const found = this.#schemas.flatMap(
      ({ properties, patternProperties, additionalProperties, unevaluatedProperties }) => [
        ...valuesOf(patternProperties),
        own(properties, name) ?? additionalProperties ?? unevaluatedProperties,
      ],
    );
    return this.#child(found, name);
  }

  item(index: number): SecretPlace {
    const found = this.#schemas.flatMap(({ prefixItems, items, unevaluatedItems, contains }) => [
      Array.isArray(prefixItems) ? prefixItems[index] : undefined,
      items,
      unevaluatedItems,
      contains,
    ]);
    return this.#child(found, '');
  }

  #child(found: readonly unknown[], name: string): SecretPlace {
    return new SecretPlace(this.#root, applying(this.#root, found), this.#byName, name, this.#inherits);
  }
}

/** With all that they refer to or are made of. */
function applying(root: unknown, found: readonly unknown[]): JsonSchema[] {
  const all = new Set<JsonSchema>();
  const waiting = [...found];
  while (waiting.length > 0 && all.size < MAX_APPLYING) {
    const next = waiting.pop();
    if (!isFields(next) || all.has(next)) continue;
    all.add(next);
    for (const keyword of SAME_VALUE) {
      const value = next[keyword];
      if (typeof value === 'string') waiting.push(referred(root, value));
      else if (Array.isArray(value)) waiting.push(...value.slice(0, MAX_APPLYING));
      else if (keyword === 'dependentSchemas') waiting.push(...valuesOf(value));
      else waiting.push(value);
    }
  }
  return [...all];
}

/** Within the same document, by a JSON pointer or an anchor's name; undefined: there is nothing. */
function referred(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    at = own(at, unescaped(step));
    if (at === undefined) return undefined;
  }
  return at;
}

function unescaped(step: string): string {
  const text = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const own = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;

const valuesOf = (value: unknown): unknown[] => (isFields(value) ? Object.values(value).slice(0, MAX_APPLYING) : []);
