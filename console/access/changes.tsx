import { useTexts } from '../texts/texts.ts';
import { AsSent, RefusedText } from '../ui/as-sent.tsx';
import type { Command, Report } from './change.ts';
import { Mark } from './mark.tsx';
import { accessTexts } from './texts.ts';

/** More would fill the page; the number of the others is shown. */
const SHOWN = 200;

/** What is sent to the broker, one line for each command, and the changes that are refused. */
export function Changes({ changes }: { readonly changes: readonly Report[] }) {
  const text = useTexts(accessTexts);
  const commands = changes.flatMap((change) => change.commands);
  const refused = changes.filter(({ error }) => error !== null);
  return (
    <>
      {refused.map(({ error }, index) => (
        <p key={index} role="alert">
          {error && <RefusedText error={error} />}
        </p>
      ))}
      {commands.length === 0 && refused.length === 0 && <p>{text('sendsNothing')}</p>}
      {commands.length > 0 && (
        <>
          <h3>{text('sends', { count: commands.length })}</h3>
          <ul className="access-diff">
            {commands.slice(0, SHOWN).map((command, index) => (
              <Line key={index} command={command} />
            ))}
          </ul>
          {commands.length > SHOWN && <p>{text('furtherCommands', { count: commands.length - SHOWN })}</p>}
        </>
      )}
    </>
  );
}

function Line({ command: { command, fields, state, error } }: { readonly command: Command }) {
  const text = useTexts(accessTexts);
  const kind = kindOf(command);
  const values = Object.entries(fields as Record<string, unknown>);
  return (
    <li className={kind}>
      <Mark kind={kind} /> <strong>{command}</strong>{' '}
      {values.map(([key, value]) => (
        <Value key={key} name={key} value={value} />
      ))}
      {state !== 'PLANNED' && <span className="quiet">{text(state)}</span>}
      {error && (
        <span role="alert">
          <AsSent>{error.message}</AsSent>
        </span>
      )}
    </li>
  );
}

function kindOf(command: string): 'added' | 'removed' | 'changed' {
  if (/^(create|add)/.test(command)) return 'added';
  return /^(delete|remove)/.test(command) ? 'removed' : 'changed';
}

/** A text or a number behind its name, a list below it. */
function Value({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (!Array.isArray(value) || value.length === 0) {
    return (
      <>
        {name} <code>{inWords(value)}</code>{' '}
      </>
    );
  }
  return (
    <>
      {name}
      <ul>
        {value.map((part) => (
          <li key={JSON.stringify(part)}>
            <code>{inWords(part)}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Lists of commands have objects with few fields. */
function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(inWords).join('; ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([key, part]) => `${key} ${inWords(part)}`)
      .join(', ');
  }
  return value === '' ? '""' : String(value);
}
