import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { certificateTexts } from './texts.ts';

const DELETE = graphql(`mutation DeleteCertificate($input: DeleteCertificateInput!) {
  deleteCertificate(input: $input) { deletedCertificateId }
}`);

interface DeleteCertificateProps {
  readonly certificate: { readonly id: string; readonly name: string; readonly hasPrivateKey: boolean };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Deletes a certificate that is deployed nowhere. */
export function DeleteCertificate({ certificate, onDone, onClose }: DeleteCertificateProps) {
  const text = useTexts(certificateTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(DELETE);
  const { id, name, hasPrivateKey } = certificate;
  const remove = async () => {
    if ((await run({ input: { certificateId: id } })) === null) return;
    notify(text('deleted', { name }));
    onDone();
  };
  return (
    <Confirmation
      title={text('deleteOf', { name })}
      action={text('deleteOf', { name })}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>{text(hasPrivateKey ? 'deleteKey' : 'deleteAuthority')}</p>
    </Confirmation>
  );
}
