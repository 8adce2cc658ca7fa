import type { JsonSchema } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { isGroupName, isSecretName } from './secret-text.ts';

/** Maximum number of schemas that apply to one place; a broker's schema may refer to any number. */
const MAX_APPLYING = 100;
/** Maximum number of schemas for one configuration, about 0.2 s. Everything after it counts as secret. */
const MAX_STEPS = 200_000;
/** Maximum number of characters of a reference. A longer one resolves to nothing. */
const MAX_REFERENCE = 1_000;

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

interface Look {
  readonly root: unknown;
  readonly byName: boolean;
  /** What each reference resolves to. */
  readonly references: Map<string, unknown>;
  /** The number of schemas visited, of lists of schemas, and of steps of references. */
  steps: number;
}

/**
 * A place in a configuration, and whether it is a secret: by its schema (`writeOnly`, `format: password`), or with
 * `byName` by its name. Everything within a secret is secret, except within an object named `credentials`.
 */
export class SecretPlace {
  readonly isSecret: boolean;
  readonly #look: Look;
  readonly #schemas: readonly JsonSchema[];
  readonly #inherits: boolean;
  /** Shared by all entries of a list, unless the schema distinguishes them. */
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

  /** The root of a configuration with this schema, which may be any value. Each walk needs a new root. */
  static whole(schema: unknown, { byName }: { readonly byName: boolean }): SecretPlace {
    const look: Look = { root: schema, byName, references: new Map(), steps: 0 };
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
    // Patterns of a broker's schema are not executed; their schemas always apply.
    const found = this.#schemas.flatMap(
      ({ properties, patternProperties, additionalProperties, unevaluatedProperties }) => [
        ...valuesOf(this.#look, patternProperties),
        own(properties, name) ?? additionalProperties ?? unevaluatedProperties,
      ],
    );
    return this.#child(found, name);
  }

  item(index: number): SecretPlace {
    if (this.#look.steps > MAX_STEPS) return this.#child([], '');
    const hasOwnSchema = this.#schemas.some(
      ({ prefixItems }) => Array.isArray(prefixItems) && index < prefixItems.length,
    );
    if (!hasOwnSchema && this.#anyItem !== null) return this.#anyItem;
    this.#look.steps += this.#schemas.length;
    const found = this.#schemas.flatMap(({ prefixItems, items, unevaluatedItems, contains }) => [
      Array.isArray(prefixItems) ? prefixItems[index] : undefined,
      items,
      unevaluatedItems,
      contains,
    ]);
    const place = this.#child(found, '');
    if (!hasOwnSchema) this.#anyItem = place;
    return place;
  }

  #child(found: readonly unknown[], name: string): SecretPlace {
    return new SecretPlace(this.#look, applying(this.#look, found), name, this.#inherits);
  }
}

function applying(look: Look, found: readonly unknown[]): JsonSchema[] {
  const all = new Set<JsonSchema>();
  const waiting = found.slice(0, MAX_APPLYING);
  look.steps += 1;
  while (waiting.length > 0 && all.size < MAX_APPLYING && look.steps <= MAX_STEPS) {
    const next = waiting.pop();
    look.steps += 1;
    if (!isFields(next) || all.has(next)) continue;
    all.add(next);
    for (const keyword of SAME_VALUE) {
      const value = next[keyword];
      if (value === undefined) continue;
      if (typeof value === 'string') waiting.push(referred(look, value));
      else if (Array.isArray(value)) waiting.push(...value.slice(0, MAX_APPLYING));
      else if (keyword === 'dependentSchemas') waiting.push(...valuesOf(look, value));
      else waiting.push(value);
    }
  }
  return [...all];
}

/** Resolves a JSON pointer within the same document; `undefined` if it does not exist. */
function referred(look: Look, reference: string): unknown {
  if (!reference.startsWith('#') || reference.length > MAX_REFERENCE) return undefined;
  if (look.references.has(reference)) return look.references.get(reference);
  let at: unknown = look.root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    at = own(at, unescaped(step));
    look.steps += 1;
    if (at === undefined) break;
  }
  look.references.set(reference, at);
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
