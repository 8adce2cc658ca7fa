import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { ConnectionFields } from './connection-fields.tsx';
import { changesOf, NEW_CONNECTION, reconnects } from './connection-input.ts';
import type { Settings } from './connection-settings.ts';
import { connectionTexts } from './connection-texts.ts';
import { useDependents } from './dependents.ts';

const UPDATE = graphql(`mutation UpdateBroker($input: UpdateBrokerInput!) {
  updateBroker(input: $input) { broker { id } }
}`);

interface ChangeConnectionProps {
  readonly settings: Settings;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** A form that says whether the service connects again, and what pauses meanwhile. */
export function ChangeConnection({ settings, onDone, onClose }: ChangeConnectionProps) {
  const text = useTexts(connectionTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(UPDATE);
  const { found } = useDependents(settings.id);
  const before = {
    ...NEW_CONNECTION,
    name: settings.name,
    description: settings.description ?? '',
    url: settings.url ?? '',
    username: settings.username ?? '',
    verifyCaCert: settings.verifyCaCert,
    allowsClientTakeover: settings.allowsClientTakeover,
    bindsSessionsToAccounts: 'bindsSessionsToAccounts' in settings && settings.bindsSessionsToAccounts,
  };
  const [input, setInput] = useState(before);
  const changes = changesOf(before, input);
  const save = async () => {
    if ((await run({ input: { brokerId: settings.id, ...changes } })) === null) return;
    notify(text('saved'));
    onDone();
  };
  return (
    <Confirmation
      title={text('changeOf', { name: settings.name })}
      action={text('save')}
      isBusy={isBusy}
      isReady={Object.keys(changes).length > 0}
      error={error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <ConnectionFields
        input={input}
        onChange={setInput}
        isNew={false}
        isEmbedded={'engine' in settings && settings.engine === 'EMBEDDED'}
        hasConnection={settings.type !== 'CLOUD' && !settings.isCluster}
      />
      <p className="note" role="status">
        {reconnects(changes)
          ? text('reconnects', { streams: found?.streams ?? '…', bridges: found?.bridges ?? '…' })
          : text('noReconnect')}
      </p>
    </Confirmation>
  );
}
