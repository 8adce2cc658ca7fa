import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { useBroker } from '../broker/broker-context.ts';
import { protocolName, versionName } from '../clients/client-columns.tsx';
import { clientsTexts } from '../clients/texts.ts';
import { useTexts } from '../texts/texts.ts';
import type { Fact } from '../ui/facts.tsx';
import { Time } from '../ui/time.tsx';
import { ANONYMOUS } from './access-of-client.tsx';
import { Card } from './card.tsx';
import type { ClientState } from './operations.ts';
import { payloadText } from './payload-text.ts';
import { clientTexts } from './texts.ts';

interface ConnectionOfClientProps {
  readonly client: ClientState;
  /** Names of fields that are null because they are unknown. */
  readonly unknown: ReadonlySet<string>;
}

/** The connection and the session of a client, its will and its encryption. */
export function ConnectionOfClient({ client, unknown }: ConnectionOfClientProps) {
  const text = useTexts(clientTexts);
  const listText = useTexts(clientsTexts);
  const { id: brokerId } = useBroker();
  const { tls, will, listener, address, remotePort } = client;
  const yesNo = (value: boolean | null) => (value === null ? null : text(value ? 'yes' : 'no'));
  const connection: Fact[] = [
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
    [text('address'), address && (remotePort === null ? address : `${address}, ${text('port', { port: remotePort })}`)],
    [text('listener'), listener && `${listener.bindAddress ?? '*'}:${listener.port}`],
    [listText('protocol'), client.protocol && protocolName(client.protocol)],
    [listText('version'), client.protocolVersion && versionName(client.protocolVersion)],
    ...(client.nodeId === null ? [] : [[text('node'), client.nodeId] as const]),
    ...(client.isConnected
      ? []
      : [[listText('lastConnected'), client.lastConnectedAt && <Time at={client.lastConnectedAt} />] as const]),
    [text('keepalive'), client.keepalive === null ? null : text('seconds', { count: client.keepalive })],
    [text('source'), text(`source${client.source}`)],
  ];
  const session: Fact[] = [
    [text('cleanSession'), yesNo(client.cleanSession)],
    [text('lastDisconnected'), client.lastDisconnectedAt ? <Time at={client.lastDisconnectedAt} /> : text('never')],
    [text('disconnectReason'), client.disconnectReason ?? '–'],
  ];
  return (
    <>
      <Card title={text('connection')} facts={connection} />
      <Card title={text('session')} facts={session} />
      <Card
        title={text('will')}
        none={text(unknown.has('will') ? 'unknown' : 'noWill')}
        facts={
          will
            ? [
                [text('topic'), will.topic],
                [text('payload'), payloadText(will.payload)],
                [text('qos'), will.qos],
                [text('retain'), yesNo(will.retain)],
                [text('delay'), text('seconds', { count: will.delayInterval ?? 0 })],
              ]
            : []
        }
      />
      <Card
        title={text('tls')}
        none={text(unknown.has('tls') ? 'unknown' : 'noTls')}
        facts={
          tls
            ? [
                [text('tlsVersion'), tls.version],
                [text('ciphers'), tls.ciphers],
                [
                  text('certificate'),
                  tls.clientCertificate && (
                    <details>
                      <summary>PEM</summary>
                      <pre className="client-pem">{tls.clientCertificate}</pre>
                    </details>
                  ),
                ],
              ]
            : []
        }
      />
    </>
  );
}
