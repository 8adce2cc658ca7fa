import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { CertificateFields, type NewCertificate } from './certificate-fields.tsx';
import { certificateTexts } from './texts.ts';

const CREATE = graphql(`mutation CreateCertificate($input: CreateCertificateInput!) {
  createCertificate(input: $input) { certificate { id } }
}`);

/** Stores a certificate. `store` returns its id, or `null` if the service refused it. */
export function useStore(projectId: string) {
  const { run, isBusy, error } = useMutation(CREATE);
  const store = async ({ filename, cert, name, privateKey }: NewCertificate) => {
    const input = { projectId, filename, cert, ...(name !== '' && { name }), ...(privateKey !== '' && { privateKey }) };
    return (await run({ input }))?.createCertificate.certificate.id ?? null;
  };
  return { store, isBusy, error };
}

interface UploadCertificateProps {
  readonly projectId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Stores a certificate, which is deployed nowhere yet. */
export function UploadCertificate({ projectId, onDone, onClose }: UploadCertificateProps) {
  const text = useTexts(certificateTexts);
  const notify = useNotices();
  const { store, isBusy, error } = useStore(projectId);
  const [values, setValues] = useState<NewCertificate>({ filename: '', name: '', cert: '', privateKey: '' });
  const save = async () => {
    if ((await store(values)) === null) return;
    notify(text('stored', { name: values.filename }));
    onDone();
  };
  return (
    <Confirmation
      title={text('upload')}
      action={text('store')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <CertificateFields values={values} onChange={(part) => setValues((before) => ({ ...before, ...part }))} />
    </Confirmation>
  );
}
