import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { type Certificate, listenerText, targetsOf } from './certificates-query.ts';
import { DEPLOY } from './deploy-certificate.tsx';
import { pemParts } from './pem-parts.ts';
import { type BrokerResult, isDone, Results } from './results.tsx';
import { certificateTexts } from './texts.ts';

const CREATE = graphql(`mutation CreateCertificate($input: CreateCertificateInput!) {
  createCertificate(input: $input) { certificate { id } }
}`);

interface UploadCertificateProps {
  readonly projectId: string;
  /** The certificate whose listeners get the new one; `null`: none. */
  readonly replaced: Certificate | null;
  readonly onDone: () => void;
  /** Called if something was stored and the dialog remains, because a listener refused. */
  readonly onChange: () => void;
  readonly onClose: () => void;
}

const PEM_ROWS = 6;

/** Stores a certificate, and deploys it where the replaced one is deployed. */
export function UploadCertificate({ projectId, replaced, onDone, onChange, onClose }: UploadCertificateProps) {
  const text = useTexts(certificateTexts);
  const notify = useNotices();
  const create = useMutation(CREATE);
  const deploy = useMutation(DEPLOY);
  const [filename, setFilename] = useState('');
  const [name, setName] = useState(replaced?.name ?? '');
  const [cert, setCert] = useState('');
  const [privateKey, setPrivateKey] = useState('');
  /** Of the certificate that is stored already, if its deployment failed. */
  const [storedId, setStoredId] = useState<string | null>(null);
  const [results, setResults] = useState<readonly BrokerResult[] | null>(null);
  const store = async () => {
    if (storedId !== null) return storedId;
    const input = { projectId, filename, cert, ...(name !== '' && { name }), ...(privateKey !== '' && { privateKey }) };
    return (await create.run({ input }))?.createCertificate.certificate.id ?? null;
  };
  const save = async () => {
    const certificateId = await store();
    if (certificateId === null) return;
    setStoredId(certificateId);
    if (replaced !== null) {
      const listeners = replaced.deployments.map(({ broker, ...listener }) => ({ brokerId: broker.id, ...listener }));
      const done = await deploy.run({ input: { certificateId, brokers: targetsOf(listeners) } });
      onChange();
      if (done === null) return;
      setResults(done.deployCertificate.results);
      if (!isDone(done.deployCertificate.results)) return;
    }
    notify(text(replaced === null ? 'stored' : 'replaced', { name: filename }));
    onDone();
  };
  const read = async (file: File | undefined) => {
    if (file === undefined) return;
    const { certificates, key } = pemParts(await file.text());
    if (certificates !== '') setCert(certificates);
    if (key !== '') setPrivateKey(key);
    if (filename === '' && certificates !== '') setFilename(file.name);
  };
  return (
    <Confirmation
      title={replaced === null ? text('upload') : text('replaceOf', { name: replaced.name })}
      action={text(replaced === null ? 'store' : 'replace')}
      isBusy={create.isBusy || deploy.isBusy}
      error={create.error ?? deploy.error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      {replaced !== null && (
        <>
          <p>{text('replaceEffect')}</p>
          <ul>
            {replaced.deployments.map((deployment) => (
              <li key={`${deployment.broker.id} ${listenerText(deployment)}`}>
                {deployment.broker.name} {text('onPort', { port: listenerText(deployment) })}
              </li>
            ))}
          </ul>
          <p>{text(replaced.hasPrivateKey ? 'deployEffect' : 'replaceAuthorityEffect')}</p>
        </>
      )}
      <div className="fields">
        <Field label={text('file')} hint={text('fileHint')}>
          <input
            type="file"
            accept=".pem,.crt,.cer,.key"
            onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
          />
        </Field>
        <Field label={text('cert')} hint={text('certHint')}>
          <textarea
            rows={PEM_ROWS}
            required={true}
            spellCheck={false}
            value={cert}
            onInput={({ currentTarget: { value } }) => setCert(value)}
          />
        </Field>
        <Field label={text('privateKey')} hint={text('keyHint')}>
          <textarea
            rows={PEM_ROWS / 2}
            spellCheck={false}
            value={privateKey}
            onInput={({ currentTarget: { value } }) => setPrivateKey(value)}
          />
        </Field>
        <Field label={text('filename')} hint={text('filenameHint')}>
          <input
            required={true}
            autoComplete="off"
            value={filename}
            onInput={({ currentTarget: { value } }) => setFilename(value)}
          />
        </Field>
        <Field label={text('name')} hint={text('nameHint')}>
          <input autoComplete="off" value={name} onInput={({ currentTarget: { value } }) => setName(value)} />
        </Field>
      </div>
      {results && <Results results={results} />}
    </Confirmation>
  );
}
