import { randomBytes } from 'node:crypto';

/**
 * Repeated in each planted secret, and in nothing else, so that also an error message with a part of a secret is found.
 */
const MARK = 'QZPLNTX';
const REPEATS = 4;

/** Where something that should not be there was found. */
export interface Leak {
  readonly source: string;
  /** As it was found: plain, base64 or hex. */
  readonly form: string;
  readonly excerpt: string;
}

/** Secrets that a test gives to a service, and those that the service creates. Finds them in its output. */
export class PlantedSecrets {
  readonly #planted = new Map<string, string>();
  /** Made by the service: value by name. */
  readonly #known = new Map<string, string>();

  /** The secret of this name: made at the first call, the same afterwards. */
  plant(name: string): string {
    const known = this.#planted.get(name);
    if (known !== undefined) return known;
    const secret = Array.from({ length: REPEATS }, () => MARK + randomBytes(2).toString('hex')).join('');
    this.#planted.set(name, secret);
    return secret;
  }

  /** A secret that the service made. */
  know(name: string, secret: string): string {
    if (secret.length < 8) throw new Error(`${name} is too short to be looked for`);
    this.#known.set(name, secret);
    return secret;
  }

  /** All there are, to see that something was looked for. */
  get names(): readonly string[] {
    return [...this.#planted.keys(), ...this.#known.keys()];
  }

  /** The last argument has secrets that the text may contain, because it is the only response with them. */
  leaksIn(source: string, text: string, tells: readonly string[] = []): Leak[] {
    const rest = tells.reduce((left, secret) => left.replaceAll(secret, ''), text);
    const leaks: Leak[] = [];
    const look = (form: string, part: string) => {
      const at = rest.indexOf(part);
      if (at >= 0) leaks.push({ source, form, excerpt: rest.slice(Math.max(at - 120, 0), at + part.length + 60) });
    };
    for (const { form, part } of MARKS) look(form, part);
    for (const [name, secret] of this.#known) {
      look(name, secret);
      look(`${name} in base64`, Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -1));
    }
    return leaks;
  }
}

/** The mark as it is in text, and in what is encoded with anything before and after it. */
const MARKS = [
  { form: 'plain', part: MARK },
  { form: 'lower case', part: MARK.toLowerCase() },
  { form: 'hex', part: Buffer.from(MARK).toString('hex') },
  ...[0, 1, 2].flatMap((before) => {
    const coded = Buffer.from('_'.repeat(before) + MARK).toString('base64');
    // Characters that bits of the neighbours have a part in are left out.
    const part = coded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + MARK.length) * 8) / 6));
    return [{ form: 'base64', part }];
  }),
];
