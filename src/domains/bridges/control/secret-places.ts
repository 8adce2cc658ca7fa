import { isFields } from '../../../protocol/control/fields.ts';
import type { JsonSchema } from '../model/bridge-kind.ts';
import { isGroupName, isSecretName } from './secret-text.ts';

/** Schemas of strangers may lead anywhere: so many that apply to one place are looked at. */
const MAX_APPLYING = 100;
/** And so many in one walk through a configuration: a fifth of a second. All that is further on is taken for secret. */
const MAX_STEPS = 200_000;

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

/** One walk through a configuration with its schema. */
interface Look {
  readonly root: unknown;
  readonly byName: boolean;
  /** Schemas that were looked at, and lists of these. */
  steps: number;
}

/**
 * A place in a configuration, and what is known of it: whether its schema says that it is a secret (`writeOnly`, `format: password`),
 * or where `byName` its name does. All within a secret is secret, but what is called `credentials`.
 */
export class SecretPlace {
  readonly isSecret: boolean;
  readonly #look: Look;
  readonly #schemas: readonly JsonSchema[];
  readonly #inherits: boolean;
  /** Entries of a list are alike, unless the schema tells them apart. */
  #anyItem: SecretPlace | null = null;
  readonly #keys = new Map<string, SecretPlace>();

  private constructor(look: Look, schemas: readonly JsonSchema[], name: string, inherited: boolean) {
    this.#look = look;
    this.#schemas = schemas;
    const isMarked =
      look.steps > MAX_STEPS || schemas.some(({ writeOnly, format }) => writeOnly === true || format === 'password');
    this.isSecret = inherited || isMarked || (look.byName && isSecretName(name));
    this.#inherits = inherited || isMarked || (this.isSecret && !isGroupName(name));
  }

  /** The whole of a configuration with this schema, which may be anything. For one walk: a further one begins with another. */
  static whole(schema: unknown, { byName }: { readonly byName: boolean }): SecretPlace {
    const look = { root: schema, byName, steps: 0 };
    return new SecretPlace(look, applying(look, [schema]), '', false);
  }

  key(name: string): SecretPlace {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const place = this.#keyed(name);
    this.#keys.set(name, place);
    return place;
  }

  #keyed(name: string): SecretPlace {
    if (this.#look.steps > MAX_STEPS) return this.#child([], name);
    this.#look.steps += this.#schemas.length;
    // Patterns of strangers are not run: what they may mean applies.
    const found = this.#schemas.flatMap(
      ({ properties, patternProperties, additionalProperties, unevaluatedProperties }) => [
        ...valuesOf(this.#look, patternProperties),
        own(properties, name) ?? additionalProperties ?? unevaluatedProperties,
      ],
    );
    return this.#child(found, name);
  }

  item(index: number): SecretPlace {
    const isTold = this.#schemas.some(({ prefixItems }) => Array.isArray(prefixItems) && index < prefixItems.length);
    if (!isTold && this.#anyItem !== null) return this.#anyItem;
    const found = this.#schemas.flatMap(({ prefixItems, items, unevaluatedItems, contains }) => [
      Array.isArray(prefixItems) ? prefixItems[index] : undefined,
      items,
      unevaluatedItems,
      contains,
    ]);
    const place = this.#child(found, '');
    if (!isTold) this.#anyItem = place;
    return place;
  }

  #child(found: readonly unknown[], name: string): SecretPlace {
    return new SecretPlace(this.#look, applying(this.#look, found), name, this.#inherits);
  }
}

/** With all that they refer to or are made of. */
function applying(look: Look, found: readonly unknown[]): JsonSchema[] {
  const all = new Set<JsonSchema>();
  const waiting = found.slice(0, MAX_APPLYING);
  look.steps += 1;
  while (waiting.length > 0 && all.size < MAX_APPLYING && look.steps <= MAX_STEPS) {
    const next = waiting.pop();
    if (!isFields(next) || all.has(next)) continue;
    all.add(next);
    look.steps += 1;
    for (const keyword of SAME_VALUE) {
      const value = next[keyword];
      if (typeof value === 'string') waiting.push(referred(look.root, value));
      else if (Array.isArray(value)) waiting.push(...value.slice(0, MAX_APPLYING));
      else if (keyword === 'dependentSchemas') waiting.push(...valuesOf(look, value));
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

function valuesOf(look: Look, value: unknown): unknown[] {
  if (!isFields(value) || look.steps > MAX_STEPS) return [];
  const values = Object.values(value);
  look.steps += values.length;
  return values.slice(0, MAX_APPLYING);
}
