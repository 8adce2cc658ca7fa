import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Problem } from '../ui/problem.tsx';
import { CertificateFields, type NewCertificate } from './certificate-fields.tsx';
import { type Certificate, listenerText, targetsOf } from './certificates-query.ts';
import { Comparison } from './comparison.tsx';
import { DEPLOY } from './deploy-certificate.tsx';
import { pemParts } from './pem-parts.ts';
import { type BrokerResult, isDone, Results } from './results.tsx';
import { certificateTexts } from './texts.ts';
import { useStoreCertificate } from './use-store-certificate.ts';

const PREVIEW = graphql(`query PreviewCertificate($cert: String!) {
  previewCertificate(cert: $cert) { subject subjectAltNames issuer validFrom validTo }
}`);

interface ReplaceCertificateProps {
  readonly projectId: string;
  readonly replaced: Certificate;
  readonly onDone: () => void;
  /** Called if something was stored and the dialog remains, because a listener refused. */
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/** Stores a certificate, and deploys it where the replaced one is deployed. The two are compared before. */
export function ReplaceCertificate(props: ReplaceCertificateProps) {
  const { replaced, onClose } = props;
  const text = useTexts(certificateTexts);
  const [values, setValues] = useState<NewCertificate>({
    filename: '',
    // The name of the replaced file would be wrong for the new one.
    name: replaced.name === replaced.filename ? '' : replaced.name,
    cert: '',
    privateKey: '',
  });
  const [isEntered, setIsEntered] = useState(false);
  if (isEntered) return <ComparedReplacement {...props} values={values} onBack={() => setIsEntered(false)} />;
  return (
    <Confirmation
      title={text('replaceOf', { name: replaced.name })}
      action={text('compare')}
      isBusy={false}
      error={null}
      onConfirm={() => setIsEntered(true)}
      onClose={onClose}
    >
      <CertificateFields values={values} onChange={(part) => setValues((before) => ({ ...before, ...part }))} />
    </Confirmation>
  );
}

interface ComparedReplacementProps extends ReplaceCertificateProps {
  readonly values: NewCertificate;
  readonly onBack: () => void;
}

function ComparedReplacement(props: ComparedReplacementProps) {
  const { projectId, replaced, values, onDone, onChange, onClose, onBack } = props;
  const text = useTexts(certificateTexts);
  const notify = useNotices();
  // Without the key, which need not be sent twice.
  const { data, error: unreadable } = useQuery(PREVIEW, { cert: pemParts(values.cert).certificates });
  const storing = useStoreCertificate(projectId);
  const deploying = useMutation(DEPLOY);
  /** Of the certificate that is stored already, if its deployment failed. */
  const [storedId, setStoredId] = useState<string | null>(null);
  const [results, setResults] = useState<readonly BrokerResult[] | null>(null);
  const replace = async () => {
    const certificateId = storedId ?? (await storing.store(values));
    if (certificateId === null) return;
    setStoredId(certificateId);
    const listeners = replaced.deployments.map(({ broker, ...listener }) => ({ brokerId: broker.id, ...listener }));
    const done = await deploying.run({ input: { certificateId, brokers: targetsOf(listeners) } });
    onChange();
    if (done === null) return;
    setResults(done.deployCertificate.results);
    if (!isDone(done.deployCertificate.results)) return;
    notify(text('replaced', { name: values.filename }));
    onDone();
  };
  const isStored = storedId !== null;
  return (
    <Confirmation
      title={text('replaceOf', { name: replaced.name })}
      action={text('replace')}
      isBusy={storing.isBusy || deploying.isBusy}
      isReady={data !== null}
      error={storing.error ?? deploying.error}
      onConfirm={() => void replace()}
      // A stored certificate is not stored again with other values.
      onClose={isStored ? onClose : onBack}
      closes={isStored ? undefined : text('back')}
    >
      {data === null ? (
        <Problem error={unreadable} />
      ) : (
        <Comparison previous={replaced} next={data.previewCertificate} />
      )}
      <p>{text('replaceEffect')}</p>
      <ul>
        {replaced.deployments.map((deployment) => (
          <li key={`${deployment.broker.id} ${listenerText(deployment)}`}>
            {deployment.broker.name} {text('onPort', { port: listenerText(deployment) })}
          </li>
        ))}
      </ul>
      <p>{text(replaced.hasPrivateKey ? 'deployEffect' : 'replaceAuthorityEffect')}</p>
      {results && <Results results={results} />}
    </Confirmation>
  );
}
