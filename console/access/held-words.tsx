import { Link } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { accessAddress } from './addresses.ts';
import type { Held } from './held-list.tsx';

/** That of Mosquitto, which needs no mention. */
const DEFAULT_PRIORITY = -1;

/** Links to groups or roles, with those priorities that are not the default. */
export function HeldWords({ kind, held }: { readonly kind: 'groups' | 'roles'; readonly held: readonly Held[] }) {
  const { id } = useBroker();
  if (held.length === 0) return <>–</>;
  return (
    <span className="access-names">
      {held.map(({ name, priority }) => (
        <span key={name}>
          <Link href={accessAddress(id, kind, { name })}>{name}</Link>
          {priority !== DEFAULT_PRIORITY && <span className="quiet"> ({priority})</span>}
        </span>
      ))}
    </span>
  );
}

export const inText = (held: readonly Held[]): string => held.map(({ name }) => name).join(' ');

export const roles = (held: readonly { readonly roleName: string; readonly priority: number }[]): readonly Held[] =>
  held.map(({ roleName, priority }) => ({ name: roleName, priority }));

export const groups = (held: readonly { readonly groupName: string; readonly priority: number }[]): readonly Held[] =>
  held.map(({ groupName, priority }) => ({ name: groupName, priority }));
