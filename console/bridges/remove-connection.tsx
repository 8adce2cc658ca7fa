import { useState } from 'react';
import { ask } from '../graph/ask.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { type Bridge, CONFIG, type Connection, UPDATE } from './bridge-graph.ts';
import { connectionsOf, isFields } from './schema.ts';
import { bridgeTexts } from './texts.ts';

interface RemoveConnectionProps {
  readonly brokerId: string;
  readonly bridge: Bridge;
  readonly connection: Connection;
  readonly onClose: () => void;
}

/** Shows what is lost with a connection, and removes it from the configuration. */
export function RemoveConnection({ brokerId, bridge, connection, onClose }: RemoveConnectionProps) {
  const text = useTexts(bridgeTexts);
  const numberText = useNumbers();
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(UPDATE);
  const [readError, setReadError] = useState<RefusedError | null>(null);
  const { name, queuedMessages } = connection;
  const confirm = async () => {
    // Read now, so that other connections stay as they are.
    const { data, error: refused } = await ask(CONFIG, { id: brokerId, key: bridge.key });
    setReadError(refused);
    const config = data?.broker?.bridge?.config;
    if (!isFields(config)) return;
    const connections = connectionsOf(config).filter((other) => other.name !== name);
    const done = await run({ input: { brokerId, bridgeKey: bridge.key, config: { ...config, connections } } });
    if (done === null) return;
    notify(text('removed', { name }));
    onClose();
  };
  return (
    <Confirmation
      title={text('removeConnection', { name })}
      action={text('removeOf', { name })}
      isDestructive={true}
      isBusy={isBusy}
      error={error ?? readError}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <ul>
        <li>{text('stopsForwarding', { bridge: bridge.name })}</li>
        <li>{text('deletesQueue', { count: queuedMessages === null ? '–' : numberText(queuedMessages) })}</li>
      </ul>
    </Confirmation>
  );
}
