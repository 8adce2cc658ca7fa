import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { CertificateFields, type NewCertificate } from './certificate-fields.tsx';
import { certificateTexts } from './texts.ts';
import { useStoreCertificate } from './use-store-certificate.ts';

interface UploadCertificateProps {
  readonly projectId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Stores a certificate, which is deployed nowhere yet. */
export function UploadCertificate({ projectId, onDone, onClose }: UploadCertificateProps) {
  const text = useTexts(certificateTexts);
  const notify = useNotices();
  const { store, isBusy, error } = useStoreCertificate(projectId);
  const [values, setValues] = useState<NewCertificate>({ filename: '', name: '', cert: '', privateKey: '' });
  const save = async () => {
    if ((await store(values)) === null) return;
    notify(text('stored', { name: values.filename }));
    onDone();
  };
  return (
    <Confirmation
      title={text('upload')}
      action={text('upload')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <CertificateFields values={values} onChange={(part) => setValues((before) => ({ ...before, ...part }))} />
    </Confirmation>
  );
}
