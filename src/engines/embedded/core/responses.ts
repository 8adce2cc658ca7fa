import { type Packet, writeToStream } from 'mqtt-packet';
import { readNextAfterWrite } from './aedes-internals.ts';
import type { BrokerClient } from './broker-client.ts';

type Response =
  | { readonly cmd: 'suback' | 'unsuback'; readonly messageId: number; readonly granted: number[] }
  | { readonly cmd: 'puback' | 'pubrec'; readonly messageId: number; readonly reasonCode: number }
  | { readonly cmd: 'pubrel'; readonly messageId: number };

/** Writes a packet, and reads the next ones when the stream has room. */
export function writeResponse(client: BrokerClient, response: Response): void {
  // The stream is a socket, or a Duplex of a WebSocket.
  const options = { protocolVersion: client.version };
  readNextAfterWrite(client, writeToStream(response as Packet, client.conn as never, options));
}

export const writePubrel = (client: BrokerClient, messageId: number): void =>
  writeResponse(client, { cmd: 'pubrel', messageId });
