import { type ReactNode, useState } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { listenerText, targetsOf } from './certificates-query.ts';
import { type BrokerResult, isDone, Results } from './results.tsx';
import { certificateTexts } from './texts.ts';

interface Choice {
  readonly brokerId: string;
  readonly brokerName: string;
  readonly port: number;
  readonly bindAddress: string | null;
  /** What the change does there. */
  readonly note?: string;
}

interface ListenerDialogProps {
  readonly title: string;
  readonly action: string;
  readonly isDestructive?: boolean;
  readonly listeners: readonly Choice[];
  /** Whether all listeners are chosen at first. Default: false. */
  readonly startsWithAll?: boolean;
  /** `null`: it was refused, see `error`. */
  readonly change: (brokers: ReturnType<typeof targetsOf>) => Promise<readonly BrokerResult[] | null>;
  readonly isBusy: boolean;
  readonly error: RefusedError | null;
  readonly onChange: () => void;
  readonly onClose: () => void;
  /** Shown instead of an empty list. */
  readonly empty?: ReactNode;
  /** What else there is to know before. */
  readonly children: ReactNode;
}

const keyOf = (listener: Choice): string => `${listener.brokerId} ${listenerText(listener)}`;

/** Changes the certificate of chosen listeners, and shows what their brokers report. It closes if all succeeded. */
export function ListenerDialog(props: ListenerDialogProps) {
  const { title, action, isDestructive, listeners, startsWithAll = false, isBusy, error, empty, children } = props;
  const text = useTexts(certificateTexts);
  /** Keys of the listeners that are chosen and were not at first, or the other way around. */
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set());
  const [results, setResults] = useState<readonly BrokerResult[] | null>(null);
  const isChosen = (listener: Choice) => flipped.has(keyOf(listener)) !== startsWithAll;
  const flip = (key: string) =>
    setFlipped(flipped.has(key) ? new Set([...flipped].filter((other) => other !== key)) : new Set([...flipped, key]));
  const confirm = async () => {
    const done = await props.change(targetsOf(listeners.filter(isChosen)));
    if (done === null) return;
    setResults(done);
    props.onChange();
    if (isDone(done)) props.onClose();
  };
  return (
    <Confirmation
      title={title}
      action={action}
      isDestructive={isDestructive}
      isBusy={isBusy}
      isReady={listeners.some(isChosen)}
      error={error}
      onConfirm={() => void confirm()}
      onClose={props.onClose}
    >
      {listeners.length === 0 && empty}
      {listeners.length > 0 && (
        <fieldset>
          <legend>{text('chooseListeners')}</legend>
          {listeners.map((listener) => (
            <label key={keyOf(listener)} className="choice">
              <input type="checkbox" checked={isChosen(listener)} onChange={() => flip(keyOf(listener))} />
              <span>
                {listener.brokerName} {text('onPort', { port: listenerText(listener) })}
                {listener.note !== undefined && (
                  <>
                    {' '}
                    <small>{listener.note}</small>
                  </>
                )}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <p>{children}</p>
      {results && <Results results={results} />}
    </Confirmation>
  );
}
