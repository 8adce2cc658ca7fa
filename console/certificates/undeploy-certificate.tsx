import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import type { Certificate } from './certificates-query.ts';
import { ListenerDialog } from './listener-dialog.tsx';
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

/** Removes a certificate from chosen listeners. Says which clients can no longer connect. */
export function UndeployCertificate({ certificate, onChange, onClose }: UndeployCertificateProps) {
  const text = useTexts(certificateTexts);
  const { run, isBusy, error } = useMutation(UNDEPLOY);
  const { id: certificateId, name, hasPrivateKey, deployments } = certificate;
  return (
    <ListenerDialog
      title={text('undeployOf', { name })}
      action={text('undeployOf', { name })}
      isDestructive={true}
      listeners={deployments.map(({ broker, ...listener }) => ({
        ...listener,
        brokerId: broker.id,
        brokerName: broker.name,
      }))}
      startsWithAll={true}
      change={async (brokers) =>
        (await run({ input: { certificateId, brokers } }))?.undeployCertificate.results ?? null
      }
      isBusy={isBusy}
      error={error}
      onChange={onChange}
      onClose={onClose}
    >
      {text(hasPrivateKey ? 'undeployEffect' : 'undeployAuthorityEffect')}
    </ListenerDialog>
  );
}
