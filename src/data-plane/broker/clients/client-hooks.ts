import type { AedesOptions, Client } from 'aedes';
import type { Admission } from '../connecting/admission.ts';
import { readConnect } from '../connecting/connect-packet.ts';
import {
  connackCodeOf,
  OWN_CODES,
  type RefusalReason,
  refuseWith,
  returnCodeOf,
  willRefusal,
} from '../connecting/connect-refusal.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { connectionOf } from '../packets/packet-reader.ts';
import { limitPackets } from '../packets/packet-writer.ts';
import type { PublishHandler } from '../publishing/publish-handler.ts';
import type { SessionExpiry } from '../sessions/session-expiry.ts';
import { consume, type ReceivedPublish } from '../store/aedes-packets.ts';
import { DiskFault } from '../store/waiting-writes.ts';
import type { BrokerClient } from './broker-client.ts';
import type { Connection } from './connection.ts';

interface ClientHookParts extends CoreParts {
  readonly admission: Admission;
  readonly publishHandler: PublishHandler;
  readonly expiry: SessionExpiry;
}

type Hooks = 'preConnect' | 'authenticate' | 'authorizePublish' | 'authorizeSubscribe';

/** Milliseconds until a throttled client gets CONNACK, because many clients reconnect as soon as they are refused. */
const THROTTLED_DELAY_MS = 1_000;
/** Maximum number of clients that wait for this CONNACK. Further clients are refused immediately. */
const MAX_DELAYED = 2_000;

const CONNECT_FAULT = 'a client could not be let in';
const PUBLISH_FAULT = "a client's publish could not be handled";

const ownClient = (client: Client): BrokerClient => client as object as BrokerClient;

/** The hooks of aedes. Exceptions close the connection in question, because aedes catches none. */
export function clientHooks(parts: ClientHookParts): Required<Pick<AedesOptions, Hooks>> {
  const { admission, publishHandler, expiry, faults, onRefused, limits } = parts;
  const windowBytes = { total: 0 };
  let delayed = 0;

  const publish = (
    client: BrokerClient | null,
    connection: Connection | undefined,
    packet: ReceivedPublish,
    done: (error?: Error | null) => void,
  ): void => {
    // The packet of a will has no command.
    if (client && connection && packet.cmd === 'publish') {
      publishHandler.take(client, connection, packet, done);
      return;
    }
    if (connection) expiry.takeWill(connection, packet);
    consume(packet);
    done();
  };

  return {
    preConnect: (aedesClient, packet, done) => {
      const client = ownClient(aedesClient);
      const connection = connectionOf(client);
      const { maximumPacketSize } = packet.properties ?? {};
      if (maximumPacketSize !== undefined) limitPackets(client.conn, maximumPacketSize);
      // As in Mosquitto, which ignores the password, too.
      if (packet.username === '') {
        delete packet.username;
        delete packet.password;
      }
      const refusal = willRefusal(packet);
      if (refusal !== null) {
        if (connection) {
          const { clientId, username = null, password, protocolVersion } = packet;
          onRefused?.(connection, {
            reason: 'will',
            clientId,
            username,
            hasPassword: password !== undefined,
            willTopic: packet.will?.topic ?? null,
            reasonCode: protocolVersion === 5 ? refusal : connackCodeOf('will', 4),
          });
        }
        refuseWith(client, packet.protocolVersion, refusal);
        return;
      }
      if (connection) readConnect(connection, packet, limits, windowBytes);
      done(null, connection !== undefined);
    },
    authenticate: (aedesClient, username, password, callback) => {
      const client = ownClient(aedesClient);
      const connection = connectionOf(client);
      const done: typeof callback = (error, isAccepted) =>
        faults.run(connection, CONNECT_FAULT, () => callback(error, isAccepted));
      const send = (reason: RefusalReason) => {
        const ownCode = OWN_CODES[reason];
        if (ownCode !== undefined && connection?.protocolVersion === 5) refuseWith(client, 5, ownCode);
        else done(Object.assign(new Error('refused'), { returnCode: returnCodeOf(reason) }), false);
      };
      const refuse = (reason: RefusalReason) => {
        if (connection) {
          onRefused?.(connection, {
            reason,
            clientId: connection.hasNoId ? '' : client.id,
            username: username ?? null,
            hasPassword: password !== undefined,
            willTopic: reason === 'will' ? (connection.will?.topic ?? null) : null,
            reasonCode: connackCodeOf(reason, connection.protocolVersion),
          });
        }
        if (reason !== 'throttled' || delayed >= MAX_DELAYED) {
          send(reason);
          return;
        }
        delayed += 1;
        setTimeout(() => {
          delayed -= 1;
          send(reason);
        }, THROTTLED_DELAY_MS).unref();
      };
      if (!connection) {
        refuse('closed');
        return;
      }
      admission.admit(client, connection, username, password).then(
        (reason) => {
          if (reason === null) done(null, true);
          else refuse(reason);
        },
        (error: unknown) => {
          if (error instanceof DiskFault) {
            refuse('storage');
            return;
          }
          faults.ofConnection(undefined, CONNECT_FAULT, error);
          faults.failed(connection);
          refuse('error');
        },
      );
    },
    authorizePublish: (aedesClient, packet, goOn) => {
      const client = aedesClient && ownClient(aedesClient);
      const connection = client ? connectionOf(client) : undefined;
      const done: typeof goOn = (error) => {
        try {
          goOn(error);
        } catch (fault) {
          faults.ofConnection(connection, PUBLISH_FAULT, fault);
        }
      };
      try {
        publish(client, connection, packet as object as ReceivedPublish, done);
      } catch (fault) {
        faults.ofConnection(connection, PUBLISH_FAULT, fault);
      }
    },
    // Only for what `Persistence.subscriptionsByClient` returns.
    authorizeSubscribe: (_client, _subscription, done) => done(null, null),
  };
}
