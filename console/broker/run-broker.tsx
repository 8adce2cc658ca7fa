import { Server } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { runTexts } from './run-texts.ts';

const CREATE = graphql(`mutation CreateCloudBroker($input: CreateCloudBrokerInput!) {
  createCloudBroker(input: $input) { broker { id } }
}`);

const ENGINES = ['EMBEDDED', 'MOSQUITTO'] as const;
type Engine = (typeof ENGINES)[number];

/** Creates a broker that this service runs, with one listener for MQTT and on request one for WebSockets. */
export function RunBroker({ project }: { readonly project: { readonly id: string; readonly name: string } }) {
  const text = useTexts(runTexts);
  const [, navigate] = useLocation();
  const { run, isBusy, error } = useMutation(CREATE);
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [engine, setEngine] = useState<Engine>('EMBEDDED');
  const [hasWebSocket, setWebSocket] = useState(false);
  const create = async () => {
    const listeners = [{ protocol: 'MQTT' as const }, ...(hasWebSocket ? [{ protocol: 'WEBSOCKET' as const }] : [])];
    const created = await run({ input: { projectId: project.id, name, engine, listeners } });
    if (created !== null) navigate(`/brokers/${created.createCloudBroker.broker.id}`);
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        <Server aria-hidden="true" /> {text('runBroker')}
      </button>
      {isOpen && (
        <Confirmation
          title={text('runIn', { project: project.name })}
          action={text('runBroker')}
          isBusy={isBusy}
          isReady={name.trim() !== ''}
          error={error}
          onConfirm={() => void create()}
          onClose={() => setOpen(false)}
        >
          <div className="fields">
            <Field label={text('name')}>
              <input
                value={name}
                required={true}
                maxLength={200}
                // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
                autoFocus={true}
                onInput={({ currentTarget: { value } }) => setName(value)}
              />
            </Field>
            {ENGINES.map((one) => (
              <label key={one} className="choice">
                <input type="radio" name="engine" checked={engine === one} onChange={() => setEngine(one)} />
                <span>
                  {text(one)} <small>{text(`${one}Hint`)}</small>
                </span>
              </label>
            ))}
            <label className="choice">
              <input
                type="checkbox"
                checked={hasWebSocket}
                onChange={({ currentTarget: { checked } }) => setWebSocket(checked)}
              />
              <span>{text('withWebSocket')}</span>
            </label>
          </div>
          <p className="note">{text('runNote')}</p>
        </Confirmation>
      )}
    </>
  );
}
