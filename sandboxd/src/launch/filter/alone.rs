//! What is refused beside the rest where there are no namespaces. Each block answers for good: no later one lets its call pass.

use super::calls::{IOCTL, OF_ONESELF, PAIRS_ALONE, REFUSED_ALONE, REQUESTS_ALONE, SOCKETS, UNKNOWN_ALONE};
use super::{
    ALLOW, Architecture, Instruction, JUMP_EQUAL, LOAD_WORD, RETURN, errno, for_call, low_word, op, return_if_equal,
};

pub(super) fn refuse(program: &mut Vec<Instruction>, architecture: Architecture) {
    let not_permitted = errno(libc::EPERM);
    for listed in REFUSED_ALONE {
        if let Some(number) = architecture.number(listed.number) {
            return_if_equal(program, number, not_permitted);
        }
    }
    for &(_, call) in UNKNOWN_ALONE {
        if let Some(number) = architecture.number(call) {
            return_if_equal(program, number, errno(libc::EOPNOTSUPP));
        }
    }
    let [(_, socket), (_, pair)] = SOCKETS;
    if let Some(number) = architecture.number(socket) {
        return_if_equal(program, number, errno(libc::EACCES));
    }
    let mut block = vec![op(LOAD_WORD, low_word(0))];
    return_unless_equal(&mut block, libc::AF_UNIX.cast_unsigned(), errno(libc::EACCES));
    block.push(op(LOAD_WORD, low_word(1)));
    for kind in PAIRS_ALONE {
        return_if_equal(&mut block, kind, ALLOW);
    }
    block.push(op(RETURN, errno(libc::EACCES)));
    for_call(program, architecture.number(pair), block);

    let mut block = vec![op(LOAD_WORD, low_word(1))];
    for &request in REQUESTS_ALONE {
        return_if_equal(&mut block, request, ALLOW);
    }
    // As if the file did not know it: programs do without.
    block.push(op(RETURN, errno(libc::ENOTTY)));
    for_call(program, architecture.number(IOCTL), block);

    for &(_, call, whose, kind) in OF_ONESELF {
        let mut block = Vec::new();
        if let Some((argument, kind)) = kind {
            block.push(op(LOAD_WORD, low_word(argument)));
            return_unless_equal(&mut block, kind, not_permitted);
        }
        block.push(op(LOAD_WORD, low_word(whose)));
        return_if_equal(&mut block, 0, ALLOW);
        block.push(op(RETURN, not_permitted));
        for_call(program, architecture.number(call), block);
    }
}

/// Returns `action` if the accumulator does not equal `value`.
fn return_unless_equal(program: &mut Vec<Instruction>, value: u32, action: u32) {
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 1,
        jf: 0,
        k: value,
    });
    program.push(op(RETURN, action));
}

#[cfg(test)]
mod tests;
