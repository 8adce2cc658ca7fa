import { Ellipsis } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Menu } from './menu.tsx';

interface RowMenuProps {
  /** What the actions are for. */
  readonly name: string;
  /** Whether the keys of a grid reach its row, so that the button is no stop of the Tab key. Default: false. */
  readonly isInGrid?: boolean;
  /** Links and buttons. */
  readonly children: ReactNode;
}

/** The actions of a row, behind one button. Until it is pressed, the page does not have them: a list has many rows. */
export function RowMenu({ name, isInGrid = false, children }: RowMenuProps) {
  const text = useTexts();
  const [isOpen, setOpen] = useState(false);
  return (
    <Menu
      label={text('actionsOf', { name })}
      className="icon"
      isInGrid={isInGrid}
      button={<Ellipsis aria-hidden="true" />}
      onOpen={() => setOpen(true)}
    >
      {isOpen && children}
    </Menu>
  );
}
