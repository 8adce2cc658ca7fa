import { createHash, randomBytes } from 'node:crypto';
import type { MessageProperties } from '../model/bridge-message.ts';

export const PATH_PROPERTY = 'brokergraph-path';
/** Maximum characters. A message that passed so many brokers is in a loop, or its sender wrote the path. */
const LONGEST = 1_000;
export const PATH_TOO_LONG = `its user property ${PATH_PROPERTY} has more than ${LONGEST} characters`;
/** An address is valid for this machine only; the random key keeps others from matching it with theirs. */
const SEEN_FROM_HERE = randomBytes(16);

/** The names of a broker in paths. A broker may have several names; one is enough to recognize it. */
type BrokerNames = readonly string[];

export const namesOfLocal = (brokerId: string, url: string): BrokerNames => [digest(brokerId), ...namesOfRemote(url)];

export function namesOfRemote(url: string): BrokerNames {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname;
  return [digest(SEEN_FROM_HERE, `${host}:${port || DEFAULT_PORTS[protocol]}`)];
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 };

/** A digest, because user properties are public and must not reveal a network. */
function digest(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url').slice(0, 12);
}

export class BridgePath {
  readonly #source: string;
  /** The names of both sides. A message with one of them in its path is in a loop. */
  readonly #known: BrokerNames;
  readonly #alone: MessageProperties;

  constructor(source: BrokerNames, target: BrokerNames) {
    this.#source = source.join('.');
    this.#known = [...source, ...target];
    this.#alone = { userProperties: [[PATH_PROPERTY, this.#source]] };
  }

  /** The properties to forward the message with. PASSED: it has already been at one of the sides. */
  extend(properties: MessageProperties | null): MessageProperties | 'PASSED' | 'TOO_LONG' {
    // The same object for all messages, so that it is encoded once.
    if (properties === null) return this.#alone;
    const others = properties.userProperties?.filter(([name]) => name !== PATH_PROPERTY) ?? [];
    const before = properties.userProperties?.find(([name]) => name === PATH_PROPERTY)?.[1] ?? '';
    if (before.length > LONGEST) return 'TOO_LONG';
    const passed = before.split('.');
    if (this.#known.some((name) => passed.includes(name))) return 'PASSED';
    const path = before === '' ? this.#source : `${before}.${this.#source}`;
    return { ...properties, userProperties: [...others, [PATH_PROPERTY, path]] };
  }
}
