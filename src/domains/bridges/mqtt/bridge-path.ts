import { createHash, randomBytes } from 'node:crypto';
import type { MessageProperties } from '../model/bridge-message.ts';

/** Name of the user property (MQTT 5) that tells which brokers a message has passed. */
export const PATH_PROPERTY = 'brokergraph-path';
/** Characters; a message that passed so many brokers goes in circles. */
const LONGEST = 1_000;
/** An address means what this machine reaches by it; others must not take it for theirs. */
const SEEN_FROM_HERE = randomBytes(16);

/** What a broker is called in paths: a broker may have several names, and one of them is enough to know it again. */
export type BrokerNames = readonly string[];

/** Of the broker that a bridge stands beside. */
export const namesOfLocal = (brokerId: string, url: string): BrokerNames => [digest(brokerId), ...namesOfRemote(url)];

/** Of a broker of which only the address is known. */
export function namesOfRemote(url: string): BrokerNames {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname;
  return [digest(SEEN_FROM_HERE, `${host}:${port || DEFAULT_PORTS[protocol]}`)];
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883, 'ws:': 80, 'wss:': 443 };

/** Told in public, so that it tells nothing of a network. */
function digest(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url').slice(0, 12);
}

/** One direction of a bridge: keeps messages from going where they have been. */
export class BridgePath {
  readonly #source: string;
  /** Of both sides: a message from the one that has passed it before has gone in a circle. */
  readonly #known: BrokerNames;
  readonly #alone: MessageProperties;

  constructor(source: BrokerNames, target: BrokerNames) {
    this.#source = source.join('.');
    this.#known = [...source, ...target];
    this.#alone = { userProperties: [[PATH_PROPERTY, this.#source]] };
  }

  /** The properties that the message goes on with; null: it has been on one of the sides before. */
  extend(properties: MessageProperties | null): MessageProperties | null {
    // The same object for all of them, which is written once.
    if (properties === null) return this.#alone;
    const others = properties.userProperties?.filter(([name]) => name !== PATH_PROPERTY) ?? [];
    const before = properties.userProperties?.find(([name]) => name === PATH_PROPERTY)?.[1] ?? '';
    if (before.length > LONGEST) return null;
    const passed = before.split('.');
    if (this.#known.some((name) => passed.includes(name))) return null;
    const path = before === '' ? this.#source : `${before}.${this.#source}`;
    return { ...properties, userProperties: [...others, [PATH_PROPERTY, path]] };
  }
}
