import { Ellipsis } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Menu } from './menu.tsx';

interface RowMenuProps {
  /** What the actions are for. */
  readonly name: string;
  /** Links and buttons. */
  readonly children: ReactNode;
}

/** The actions of a row, behind one button. */
export function RowMenu({ name, children }: RowMenuProps) {
  const text = useTexts();
  return (
    <Menu label={text('actionsOf', { name })} className="icon" button={<Ellipsis aria-hidden="true" />}>
      {children}
    </Menu>
  );
}
