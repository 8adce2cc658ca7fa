import { type IncomingPacket, PacketParser } from '../../../src/data-plane/broker/packets/mqtt-packet-internals.ts';
import type { PacketHeader } from '../../../src/data-plane/broker/packets/packet-rules.ts';

type CheckArguments = [header: PacketHeader, body: Buffer, version: number | undefined];

interface Callbacks {
  readonly check?: (...packet: CheckArguments) => void;
  readonly packet?: (packet: IncomingPacket) => void;
  readonly after?: () => void;
  readonly error?: (error: Error) => void;
}

/** A parser that passes what it reads to callbacks. `version`: of packets before CONNECT. */
export class CallbackParser extends PacketParser {
  readonly #callbacks: Callbacks;

  constructor(callbacks: Callbacks, version?: number) {
    super();
    this.#callbacks = callbacks;
    this.settings = { protocolVersion: version };
  }

  override check(...packet: CheckArguments): undefined {
    this.#callbacks.check?.(...packet);
  }

  override onPacket(packet: IncomingPacket): void {
    this.#callbacks.packet?.(packet);
  }

  override afterPacket(): void {
    this.#callbacks.after?.();
  }

  override onError(error: Error): void {
    this.#callbacks.error?.(error);
  }
}
