import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { NotAll } from '../ui/not-all.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Certificate } from './certificates-query.ts';
import { ListenerDialog } from './listener-dialog.tsx';
import { certificateTexts } from './texts.ts';

const LISTENERS = graphql(`query TlsListeners($id: ID!) {
  project(id: $id) {
    brokers(first: 200) {
      totalCount
      nodes {
        id
        name
        listeners {
          id
          port
          bindAddress
          hasTls
          requiresCertificate
          server { id name }
          certificates { id }
        }
      }
    }
  }
}`);
export const DEPLOY = graphql(`mutation DeployCertificate($input: DeployCertificateInput!) {
  deployCertificate(input: $input) {
    results {
      brokerId
      broker { name }
      error
      succeed { port bindAddress }
      failed { port bindAddress error }
    }
  }
}`);

type Broker = NonNullable<ResultOf<typeof LISTENERS>['project']>['brokers']['nodes'][number];
type Listener = NonNullable<Broker['listeners']>[number];

interface DeployCertificateProps {
  readonly projectId: string;
  readonly certificate: Certificate;
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** Deploys a certificate on chosen listeners. Each says what the deployment replaces there. */
export function DeployCertificate({ projectId, certificate, onChange, onClose }: DeployCertificateProps) {
  const text = useTexts(certificateTexts);
  const { data, error: problem } = useQuery(LISTENERS, { id: projectId });
  const { run, isBusy, error } = useMutation(DEPLOY);
  const { id: certificateId, name, hasPrivateKey } = certificate;
  const effect = ({ server, requiresCertificate }: Listener) => {
    if (!hasPrivateKey) return text(requiresCertificate ? 'authorityRequired' : 'authorityOptional');
    return server ? text('replaces', { name: server.name }) : text('first');
  };
  const { nodes = [], totalCount = 0 } = data?.project?.brokers ?? {};
  const open = nodes.flatMap((broker) =>
    (broker.listeners ?? [])
      .filter(({ hasTls, certificates }) => hasTls && certificates.every(({ id }) => id !== certificateId))
      .map((listener) => ({ ...listener, brokerId: broker.id, brokerName: broker.name, note: effect(listener) })),
  );
  return (
    <ListenerDialog
      title={text('deployOf', { name })}
      action={text('deploy')}
      listeners={open}
      change={async (brokers) => (await run({ input: { certificateId, brokers } }))?.deployCertificate.results ?? null}
      isBusy={isBusy}
      error={error}
      onChange={onChange}
      onClose={onClose}
      empty={data === null ? <Problem error={problem} /> : <p>{text('noListeners')}</p>}
    >
      {text(hasPrivateKey ? 'deployEffect' : 'authorityEffect')}
      <NotAll shown={nodes.length} total={totalCount} />
    </ListenerDialog>
  );
}
