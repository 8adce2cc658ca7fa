import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { useBroker } from '../broker/broker-context.ts';
import { useBytes } from '../broker/units.ts';
import { protocolName, versionName } from '../clients/client-columns.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { Time } from '../ui/time.tsx';
import { ANONYMOUS } from './access-of-client.tsx';
import type { ClientNumbers, ClientState } from './operations.ts';
import { payloadText } from './payload-text.ts';
import { clientTexts } from './texts.ts';

interface FactsOfClientProps {
  readonly client: ClientState;
  /** `null`: not known yet. */
  readonly numbers: ClientNumbers | null;
}

/** The connection of a client, its encryption, session, will and queue. */
export function FactsOfClient({ client, numbers }: FactsOfClientProps) {
  const text = useTexts(clientTexts);
  const { id: brokerId } = useBroker();
  const numberText = useNumbers();
  const bytesText = useBytes();
  const { tls, will, listener, address, remotePort, protocol, protocolVersion, cleanSession } = client;
  const unknown = <span className="quiet">{text('unknown')}</span>;
  // Unless the client has it, it is not known whether it has.
  const isUnknown = (field: string) => !numbers || numbers.unknownFields?.some((one) => one.field === field) === true;
  const of = (value: number | null | undefined, limit: number | null | undefined, format = numberText) => {
    if (value == null) return unknown;
    return limit == null ? format(value) : text('of', { value: format(value), limit: format(limit) });
  };
  const { queues, inflight } = numbers ?? {};
  const joined = (...parts: readonly (string | null | false)[]) => parts.filter(Boolean).join(', ');
  const facts: Fact[] = [
    [
      text('account'),
      client.username === ANONYMOUS ? (
        client.username
      ) : (
        <Link key="account" href={accessAddress(brokerId, 'accounts', { name: client.username })}>
          {client.username}
        </Link>
      ),
    ],
    [text('address'), address === null ? unknown : remotePort === null ? address : hostAndPort(address, remotePort)],
    [text('listener'), listener ? hostAndPort(listener.bindAddress ?? '*', listener.port) : unknown],
    [
      text('protocol'),
      [protocol && protocolName(protocol), protocolVersion && versionName(protocolVersion)].filter(Boolean).join(' ') ||
        unknown,
    ],
    [text('tls'), tls ? joined(tls.version, tls.ciphers) || text('yes') : isUnknown('tls') ? unknown : text('none')],
    [
      text('certificate'),
      tls?.clientCertificate && (
        <details key="certificate">
          <summary>PEM</summary>
          <pre className="client-pem">{tls.clientCertificate}</pre>
        </details>
      ),
    ],
    [text('keepalive'), client.keepalive === null ? unknown : text('seconds', { count: client.keepalive })],
    [text('node'), client.nodeId],
    [text('session'), cleanSession === null ? unknown : text(cleanSession ? 'sessionEnds' : 'sessionStays')],
    [
      text('lastConnected'),
      !client.isConnected && client.lastConnectedAt && <Time key="connected" at={client.lastConnectedAt} />,
    ],
    [
      text('lastDisconnected'),
      // The end of a connection that another one replaced has a reason only.
      client.lastDisconnectedAt || client.disconnectReason ? (
        <span key="disconnected">
          {client.lastDisconnectedAt && <Time at={client.lastDisconnectedAt} />}{' '}
          {client.disconnectReason && (
            <>
              (<AsSent>{client.disconnectReason}</AsSent>)
            </>
          )}
        </span>
      ) : (
        text('never')
      ),
    ],
    [
      text('will'),
      will ? (
        <span key="will">
          <code>{will.topic}</code>: {payloadText(will.payload)},{' '}
          {joined(
            `QoS ${will.qos}`,
            will.retain && text('retain'),
            will.delayInterval !== null && will.delayInterval > 0 && text('delay', { count: will.delayInterval }),
          )}
        </span>
      ) : isUnknown('will') ? (
        unknown
      ) : (
        text('none')
      ),
    ],
    [text('queuedMessages'), of(queues?.messagesOut, queues?.messagesMax)],
    [text('queuedBytes'), of(queues?.bytesOut, queues?.bytesMax, bytesText)],
    [text('inflightOut'), of(inflight?.messagesOut, inflight?.messagesOutMax ?? inflight?.messagesMax)],
    [text('inflightIn'), of(inflight?.messagesIn, inflight?.messagesInMax ?? inflight?.messagesMax)],
    [text('droppedMessages'), of(numbers?.numDropped, null)],
    [text('source'), text(`source${client.source}`)],
  ];
  return <Facts facts={facts} />;
}

const hostAndPort = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);
