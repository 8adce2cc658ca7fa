import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { overviewTexts } from './overview-texts.ts';

const ADD = graphql(`mutation AddListener($input: AddListenerInput!) {
  addListener(input: $input) { broker { id } }
}`);
const UPDATE = graphql(`mutation UpdateListener($input: UpdateListenerInput!) {
  updateListener(input: $input) { broker { id } }
}`);
const REMOVE = graphql(`mutation RemoveListener($input: RemoveListenerInput!) {
  removeListener(input: $input) { broker { id } }
}`);

const PROTOCOLS = ['MQTT', 'WEBSOCKET'] as const;

interface DialogProps {
  readonly brokerId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface NumberedListener {
  readonly number: number;
  readonly port: number;
}

/** Adds a listener to a broker that this service runs, or changes the port of one. */
export function EditListener({
  brokerId,
  listener,
  onDone,
  onClose,
}: DialogProps & { readonly listener: NumberedListener | null }) {
  const text = useTexts(overviewTexts);
  const add = useMutation(ADD);
  const update = useMutation(UPDATE);
  const [port, setPort] = useState(listener === null ? '' : String(listener.port));
  const [protocol, setProtocol] = useState<(typeof PROTOCOLS)[number]>('MQTT');
  const [hasTls, setTls] = useState(false);
  const [requiresCertificate, setRequiresCertificate] = useState(false);
  const save = async () => {
    const added = { protocol, port: Number(port), hasTls, requiresCertificate: hasTls && requiresCertificate };
    const done =
      listener === null
        ? await add.run({ input: { brokerId, listener: added } })
        : await update.run({ input: { brokerId, number: listener.number, port: Number(port) } });
    if (done !== null) onDone();
  };
  return (
    <Confirmation
      title={listener === null ? text('addListener') : text('changePortOf', { port: listener.port })}
      action={text(listener === null ? 'addListener' : 'save')}
      isBusy={add.isBusy || update.isBusy}
      error={add.error ?? update.error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <div className="fields">
        <Field label={text('port')} hint={text('portHint')}>
          <input
            type="number"
            min={0}
            max={65_535}
            value={port}
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            onInput={({ currentTarget: { value } }) => setPort(value)}
          />
        </Field>
        {listener === null && (
          <>
            <Field label={text('protocol')}>
              <select
                value={protocol}
                onChange={({ currentTarget: { value } }) =>
                  setProtocol(PROTOCOLS.find((one) => one === value) ?? protocol)
                }
              >
                {PROTOCOLS.map((one) => (
                  <option key={one} value={one}>
                    {text(one)}
                  </option>
                ))}
              </select>
            </Field>
            <label className="choice">
              <input type="checkbox" checked={hasTls} onChange={() => setTls(!hasTls)} />
              <span>
                {text('tls')} <small>{text('tlsHint')}</small>
              </span>
            </label>
            {hasTls && (
              <label className="choice">
                <input
                  type="checkbox"
                  checked={requiresCertificate}
                  onChange={() => setRequiresCertificate(!requiresCertificate)}
                />
                <span>{text('clientCertificates')}</span>
              </label>
            )}
          </>
        )}
      </div>
      <p className="note">{text('startsAgain')}</p>
    </Confirmation>
  );
}

/** Removes a listener of a broker that this service runs. */
export function RemoveListener({
  brokerId,
  listener: { number, port },
  onDone,
  onClose,
}: DialogProps & { readonly listener: NumberedListener }) {
  const text = useTexts(overviewTexts);
  const { run, isBusy, error } = useMutation(REMOVE);
  const remove = async () => {
    if ((await run({ input: { brokerId, number } })) !== null) onDone();
  };
  return (
    <Confirmation
      title={text('removeListenerOf', { port })}
      action={text('remove')}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>{text('startsAgain')}</p>
    </Confirmation>
  );
}
