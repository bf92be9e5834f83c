"""Does a file still hold exactly the block that the record says?"""

from __future__ import annotations

from uuid import UUID

from tikitaka.landing.blocks import BlockFault, BlocksRefused, find_blocks
from tikitaka.text import digest


def block_digest(body: str) -> str:
    """What a landing's record keeps of the text between the markers."""
    return digest(body)


def block_fault(text: str | None, note: UUID, expected_digest: str) -> BlockFault | None:
    """None when the very block is there; only then does the note count as available."""
    if text is None:
        return BlockFault.ABSENT
    blocks = find_blocks(text)
    if isinstance(blocks, BlocksRefused):
        return blocks.reason
    for block in blocks:
        if block.note == note:
            return None if block_digest(block.body) == expected_digest else BlockFault.CHANGED
    return BlockFault.ABSENT
