import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { LiveMark } from '../ui/live-mark.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { accessTexts } from './texts.ts';

type Kind = 'accounts' | 'groups' | 'roles';

const ALL = { accounts: 'allAccounts', groups: 'allGroups', roles: 'allRoles' } as const;
const NONE = { accounts: 'noAccount', groups: 'noGroup', roles: 'noRole' } as const;

/** The way back to the list of an object. */
function Back({ kind }: { readonly kind: Kind }) {
  const text = useTexts(accessTexts);
  const { brokerId } = useAccess();
  return (
    <p>
      <Link href={accessAddress(brokerId, kind)}>{text(ALL[kind])}</Link>
    </p>
  );
}

/** Shown instead of an object that the broker does not have. */
export function NoObject({ kind, name }: { readonly kind: Kind; readonly name: string }) {
  const text = useTexts(accessTexts);
  return (
    <>
      <p role="alert">{text(NONE[kind], { name })}</p>
      <Back kind={kind} />
    </>
  );
}

interface ObjectHeaderProps {
  readonly kind: Kind;
  readonly name: string;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
  /** Between the buttons. */
  readonly button?: ReactNode;
  /** After the name. */
  readonly children?: ReactNode;
}

/** The name of an object, and what a caller who may change it can do with it. */
export function ObjectHeader({ kind, name, onEdit, onDelete, button, children }: ObjectHeaderProps) {
  const text = useTexts(accessTexts);
  const { canChange, isLive } = useAccess();
  return (
    <>
      <Back kind={kind} />
      <header className="screen">
        <PageHeading of="OBJECT">{name}</PageHeading>
        {children}
        <LiveMark isLive={isLive} />
        {canChange && (
          <span className="access-buttons">
            <button type="button" onClick={onEdit}>
              {text('edit')}
            </button>
            {button}
            <button type="button" className="danger" onClick={onDelete}>
              {text('delete')}
            </button>
          </span>
        )}
      </header>
    </>
  );
}
