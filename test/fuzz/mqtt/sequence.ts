import type { FuzzPacket } from './packets.ts';

/** One thing that a fuzzer does to a broker. Connections are numbered from 0. */
export type Step =
  /**
   * Sends the packets; opens the connection if it is closed and the first packet is a CONNECT, or if it was never open.
   */
  | {
      readonly do: 'send';
      readonly on: number;
      readonly packets: readonly FuzzPacket[];
      /** Bytes of each TCP segment. Missing: all packets leave in one write. */
      readonly segment?: number;
      /** Whether the connection acknowledges what it receives, from here on. Default: yes. */
      readonly acknowledges?: boolean;
      /** Whether the next step waits until the broker has handled this one. */
      readonly waits?: boolean;
    }
  /** Closes the socket without DISCONNECT: `end` after everything was sent, `reset` immediately. */
  | { readonly do: 'drop'; readonly on: number; readonly how: 'end' | 'reset'; readonly waits?: boolean }
  /** Closes all sockets. */
  | { readonly do: 'dropAll' }
  /** Stops the broker as the service does, or kills it, and starts it on the same folder. */
  | { readonly do: 'restart'; readonly how: 'close' | 'kill' };

export type Sequence = readonly Step[];

/** Several sequences as one, with the same effect. */
export const joined = (sequences: readonly Sequence[]): Sequence =>
  sequences.flatMap((sequence): Sequence => [...sequence, { do: 'dropAll' }]);

export const packetsOf = (sequence: Sequence): number =>
  sequence.reduce((count, step) => count + (step.do === 'send' ? step.packets.length : 0), 0);
