import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { Settings } from './connection-settings.ts';
import { connectionTexts } from './connection-texts.ts';
import { useDependents } from './dependents.ts';

const DELETE = graphql(`mutation DeleteBroker($input: DeleteBrokerInput!) {
  deleteBroker(input: $input) { deletedBrokerId }
}`);

/** Removes a broker from the service, after all that ends with it was shown. */
export function RemoveBroker({ settings, onClose }: { readonly settings: Settings; readonly onClose: () => void }) {
  const text = useTexts(connectionTexts);
  const notify = useNotices();
  const [, navigate] = useLocation();
  const { run, isBusy, error } = useMutation(DELETE);
  const { found, error: problem } = useDependents(settings.id);
  const { name, type, cluster } = settings;
  const remove = async () => {
    if ((await run({ input: { brokerId: settings.id } })) === null) return;
    notify(text('removed', { name }));
    navigate('/');
  };
  return (
    <Confirmation
      title={text('removeOf', { name })}
      action={text('removeBroker')}
      isDestructive={true}
      isBusy={isBusy}
      isReady={found !== null && cluster === null}
      error={error ?? problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      {cluster && <p>{text('inCluster', { cluster: cluster.name })}</p>}
      {!cluster && <p>{text(type === 'CLOUD' ? 'removeOwn' : 'removeOther', { clients: found?.clients ?? '…' })}</p>}
      {found && !cluster && (
        <>
          <p>{text('alsoRemoved')}</p>
          <ul>
            <li>{text('dependentStreams', { count: found.streams })}</li>
            <li>{text('dependentBridges', { count: found.bridges })}</li>
            <li>{text('dependentCertificates', { count: found.certificates })}</li>
            <li>{text('dependentTokens', { count: found.tokens })}</li>
          </ul>
        </>
      )}
    </Confirmation>
  );
}
