import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { type Certificate, type Deployment, listenerText, targetsOf } from './certificates-query.ts';
import { type BrokerResult, isDone, Results } from './results.tsx';
import { certificateTexts } from './texts.ts';

const UNDEPLOY = graphql(`mutation UndeployCertificate($input: UndeployCertificateInput!) {
  undeployCertificate(input: $input) {
    results {
      brokerId
      broker { name }
      error
      succeed { port bindAddress }
      failed { port bindAddress error }
    }
  }
}`);

interface UndeployCertificateProps {
  readonly certificate: Certificate;
  readonly onChange: () => void;
  readonly onClose: () => void;
}

const keyOf = (deployment: Deployment): string => `${deployment.broker.id} ${listenerText(deployment)}`;

/** Removes a certificate from chosen listeners. Says which clients can no longer connect. */
export function UndeployCertificate({ certificate, onChange, onClose }: UndeployCertificateProps) {
  const text = useTexts(certificateTexts);
  const { run, isBusy, error } = useMutation(UNDEPLOY);
  const { id, name, hasPrivateKey, deployments } = certificate;
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [results, setResults] = useState<readonly BrokerResult[] | null>(null);
  const chosen = deployments.filter((deployment) => !left.has(keyOf(deployment)));
  const leave = (key: string, isChosen: boolean) =>
    setLeft(new Set(isChosen ? [...left].filter((other) => other !== key) : [...left, key]));
  const undeploy = async () => {
    const brokers = targetsOf(chosen.map(({ broker, ...listener }) => ({ brokerId: broker.id, ...listener })));
    const done = await run({ input: { certificateId: id, brokers } });
    if (done === null) return;
    setResults(done.undeployCertificate.results);
    onChange();
    if (isDone(done.undeployCertificate.results)) onClose();
  };
  return (
    <Confirmation
      title={text('undeployOf', { name })}
      action={text('undeployOf', { name })}
      isDestructive={true}
      isBusy={isBusy}
      isReady={chosen.length > 0}
      error={error}
      onConfirm={() => void undeploy()}
      onClose={onClose}
    >
      <fieldset>
        <legend>{text('chooseListeners')}</legend>
        {deployments.map((deployment) => (
          <label key={keyOf(deployment)} className="choice">
            <input
              type="checkbox"
              checked={!left.has(keyOf(deployment))}
              onChange={({ currentTarget: { checked } }) => leave(keyOf(deployment), checked)}
            />
            <span>
              {deployment.broker.name} {text('onPort', { port: listenerText(deployment) })}
            </span>
          </label>
        ))}
      </fieldset>
      <p>{text(hasPrivateKey ? 'undeployEffect' : 'undeployAuthorityEffect')}</p>
      {results && <Results results={results} />}
    </Confirmation>
  );
}
