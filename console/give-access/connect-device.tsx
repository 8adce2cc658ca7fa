import { useState } from 'react';
import { useBroker } from '../broker/broker-context.ts';
import { isLoopback, placeOf } from '../clients/broker-place.ts';
import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Arrival } from './arrival.tsx';
import { type Device, SNIPPETS } from './snippets.ts';
import { giveAccessTexts } from './texts.ts';
import './style.css';

const NAMES = Object.keys(SNIPPETS) as (keyof typeof SNIPPETS)[];

/** The password, programs that use it, and whether the device has connected. */
export function ConnectDevice({ device, onClose }: { readonly device: Device; readonly onClose: () => void }) {
  const text = useTexts(giveAccessTexts);
  const { url } = useBroker();
  const [place, setPlace] = useState(() => {
    const { host, ...others } = placeOf(url);
    // A broker on the machine of the service is where the console was opened.
    return { ...others, host: isLoopback(host) ? location.hostname : host };
  });
  const [shown, setShown] = useState<keyof typeof SNIPPETS>('Mosquitto');
  const snippet = SNIPPETS[shown](device, place);
  return (
    <Dialog title={text('connect', { name: device.username })} onClose={onClose}>
      <div className="fields give-access">
        <p>{text('passwordOnce')}</p>
        <CommandToCopy command={device.password} />
        <div className="give-place">
          <Field label={text('host')} hint={text(isLoopback(place.host) ? 'loopback' : 'hostHint')}>
            <input value={place.host} onInput={({ currentTarget: { value } }) => setPlace({ ...place, host: value })} />
          </Field>
          <Field label={text('port')}>
            <input
              inputMode="numeric"
              value={place.port}
              onInput={({ currentTarget: { value } }) => setPlace({ ...place, port: value })}
            />
          </Field>
          <label>
            <input
              type="checkbox"
              checked={place.isSecure}
              onChange={({ currentTarget: { checked } }) => setPlace({ ...place, isSecure: checked })}
            />{' '}
            TLS
          </label>
        </div>
        {device.topic === null && device.filter === null ? (
          <p className="note">{text('noTopic')}</p>
        ) : (
          <>
            <fieldset className="choices" aria-label={text('program')}>
              {NAMES.map((name) => (
                <button key={name} type="button" aria-pressed={shown === name} onClick={() => setShown(name)}>
                  {name}
                </button>
              ))}
            </fieldset>
            <CommandToCopy key={snippet} command={snippet} />
          </>
        )}
        <Arrival username={device.username} />
      </div>
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('done')}
        </button>
      </p>
    </Dialog>
  );
}
