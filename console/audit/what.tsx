import { Link } from 'wouter';
import { useViewer } from '../session/viewer.ts';
import { type Translate, useTexts } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';
import { fieldsOf } from './differences.ts';
import { isOperation, operationTexts } from './operation-texts.ts';
import { targetAddress } from './target-address.ts';
import { auditTexts } from './texts.ts';

/** What was done to which object, on which broker and in which project, with links to their screens. */
export function What({ entry }: { readonly entry: Entry }) {
  const text = useTexts(auditTexts);
  const done = useOperation();
  const { isRootAdmin } = useViewer();
  const { broker, project, targetKind } = entry;
  const name = nameOf(entry, text);
  const address = targetAddress(entry, isRootAdmin);
  const places = [
    ...(broker && targetKind !== 'broker' ? [{ address: `/brokers/${broker.id}`, name: broker.name }] : []),
    ...(project && targetKind !== 'project' ? [{ address: `/projects/${project.id}`, name: project.name }] : []),
  ];
  return (
    <p className="what">
      {done(entry)}
      {name !== null && ': '}
      {name !== null && (address === null ? <strong>{name}</strong> : <Link href={address}>{name}</Link>)}
      {othersOf(entry).map((other) => ` · ${other}`)}
      {places.length > 0 && (
        <small>
          {places.map((place) => (
            <span key={place.address}>
              {' · '}
              <Link href={place.address}>{place.name}</Link>
            </span>
          ))}
        </small>
      )}
    </p>
  );
}

/** An operation in words. */
export function useOperationName(): (operation: string) => string {
  const operationText = useTexts(operationTexts);
  return (operation) => (isOperation(operation) ? operationText(operation) : operation);
}

/** The operation in words, with the number of attempts that the entry stands for. */
export function useOperation(): (entry: Entry) => string {
  const text = useTexts(auditTexts);
  const operationName = useOperationName();
  return ({ operation, result, after }) => {
    const isRead = result === 'REFUSED' && !isOperation(operation);
    const words = isRead ? text('read', { operation }) : operationName(operation);
    const count = fieldsOf(after).get('count');
    return count === undefined || result === 'DONE' ? words : text('furtherAttempts', { words, count });
  };
}

/** The target in words, for the CSV file. */
export const targetText = (entry: Entry): string => [entry.targetName, ...othersOf(entry)].filter(Boolean).join(' · ');

/** Objects with a screen of their own and without a name are called by it. */
function nameOf({ targetKind, targetName, broker }: Entry, text: Translate<'toScreen'>): string | null {
  return targetName ?? (broker !== null && targetKind !== null ? text('toScreen') : null);
}

/** Members, roles and groups that the operation connects with its target. */
function othersOf({ targetKind, after }: Entry): string[] {
  const fields = fieldsOf(after);
  const keys = [
    ...(targetKind === 'user' ? [] : ['email']),
    ...(targetKind === 'account' ? ['groupName'] : []),
    ...(targetKind === 'accessRole' ? [] : ['roleName']),
    'topic',
  ];
  return keys.flatMap((key) => fields.get(key) ?? []);
}
