import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Problem } from '../ui/problem.tsx';
import { type Certificate, listenerText, targetsOf } from './certificates-query.ts';
import { type BrokerResult, isDone, Results } from './results.tsx';
import { certificateTexts } from './texts.ts';

const LISTENERS = graphql(`query TlsListeners($id: ID!) {
  project(id: $id) {
    brokers(first: 100) {
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
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [results, setResults] = useState<readonly BrokerResult[] | null>(null);
  const open = (data?.project?.brokers.nodes ?? []).flatMap((broker) =>
    (broker.listeners ?? [])
      .filter(({ hasTls, certificates }) => hasTls && certificates.every(({ id }) => id !== certificate.id))
      .map((listener) => ({ ...listener, brokerId: broker.id, brokerName: broker.name })),
  );
  const choose = (id: string, isChosen: boolean) =>
    setChosen(new Set(isChosen ? [...chosen, id] : [...chosen].filter((other) => other !== id)));
  const deploy = async () => {
    const brokers = targetsOf(open.filter(({ id }) => chosen.has(id)));
    const done = await run({ input: { certificateId: certificate.id, brokers } });
    if (done === null) return;
    setResults(done.deployCertificate.results);
    onChange();
    if (isDone(done.deployCertificate.results)) onClose();
  };
  const effect = ({ server, requiresCertificate }: Listener) => {
    if (!certificate.hasPrivateKey) return text(requiresCertificate ? 'authorityRequired' : 'authorityOptional');
    return server ? text('replaces', { name: server.name }) : text('first');
  };
  return (
    <Confirmation
      title={text('deployOf', { name: certificate.name })}
      action={text('deploy')}
      isBusy={isBusy}
      isReady={chosen.size > 0}
      error={error}
      onConfirm={() => void deploy()}
      onClose={onClose}
    >
      {data === null && <Problem error={problem} />}
      {data !== null && open.length === 0 && <p>{text('noListeners')}</p>}
      {open.length > 0 && (
        <fieldset>
          <legend>{text('chooseListeners')}</legend>
          {open.map((listener) => (
            <label key={listener.id} className="choice">
              <input
                type="checkbox"
                checked={chosen.has(listener.id)}
                onChange={({ currentTarget: { checked } }) => choose(listener.id, checked)}
              />
              <span>
                {listener.brokerName} {text('onPort', { port: listenerText(listener) })}{' '}
                <small>{effect(listener)}</small>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <p>{text(certificate.hasPrivateKey ? 'deployEffect' : 'authorityEffect')}</p>
      {results && <Results results={results} />}
    </Confirmation>
  );
}
