import { generate, type Packet, writeToStream } from 'mqtt-packet';
import type { BrokerClient } from '../clients/broker-client.ts';
import type { Connection } from '../clients/connection.ts';
import { readNextAfterWrite } from '../core/aedes-internals.ts';

interface SubscribeResponse {
  readonly cmd: 'suback' | 'unsuback';
  readonly messageId: number;
  readonly granted: number[];
}

type Response =
  | SubscribeResponse
  | { readonly cmd: 'puback' | 'pubrec' | 'pubcomp'; readonly messageId: number; readonly reasonCode: number }
  | { readonly cmd: 'pubrel'; readonly messageId: number };

/** [MQTT-3.1.2-24] Whether the client, of MQTT 5 if it has a limit, accepts a packet of this size. */
export const acceptsResponse = ({ maxPacketBytes }: Connection, response: SubscribeResponse): boolean =>
  maxPacketBytes === null || generate(response as Packet, { protocolVersion: 5 }).length <= maxPacketBytes;

/** Writes a packet that the client accepts, and reads the next ones when the stream has room. */
export function writeResponse(client: BrokerClient, response: Response): void {
  // The stream is a socket, or a Duplex of a WebSocket.
  const options = { protocolVersion: client.version };
  readNextAfterWrite(client, writeToStream(response as Packet, client.conn as never, options));
}

export const writePubrel = (client: BrokerClient, messageId: number): void =>
  writeResponse(client, { cmd: 'pubrel', messageId });
