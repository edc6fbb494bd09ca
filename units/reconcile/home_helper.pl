# Reads and writes files in the homes of agents. Runs with one thread, as a child process of root.
# For each request it takes the agent's groups and effective uid, does the work, and becomes root
# again. The real and the saved uid stay root's, so the agent can neither signal nor trace it.
#
# Request: "<op> <uid> <gid> <mode> <bytes of user, base, path and data>\n", then these four.
# Answer:  "<code> <mode> <bytes>\n", then the bytes. Codes: ok, absent, an errno name, or `kind`.
#
# `base` is entered without checks, because it is an entry of a folder that root owns. Below it, no
# link is followed: each folder is opened relative to its parent. Nothing from a home is executed.
use strict;
use warnings FATAL => "all";
use Errno ();
use Fcntl qw(O_RDONLY O_WRONLY O_CREAT O_EXCL O_NOFOLLOW O_NONBLOCK O_DIRECTORY :mode);
use IO ();    # fsync

# Flag that opens a folder without the right to list it. Fcntl does not define it.
use constant O_PATH         => 0x200000;
use constant READ_BYTES_MAX => 1_048_576;
use constant REQUEST        => qr/\A([a-z-]+) ([1-9]\d*) (\d+) ([0-7]+) (\d+) (\d+) (\d+) (\d+)\z/a;
use constant TEMP_SUFFIX    => ".fleetctl-tmp";
# Far above any header, and far above PATH_MAX and the longest text that is written.
use constant HEADER_BYTES_MAX  => 65_536;
use constant REQUEST_BYTES_MAX => 8_388_608;

my %errno_name = map { Errno->can($_)->() => $_ }
  qw(ENOENT ENOTDIR EACCES EPERM ELOOP EISDIR EEXIST ENOSPC EDQUOT EROFS EAGAIN ENXIO ENAMETOOLONG);
my @kinds = (
    [ S_IFDIR,  "folder" ],
    [ S_IFLNK,  "link" ],
    [ S_IFIFO,  "pipe" ],
    [ S_IFSOCK, "socket" ],
    [ S_IFCHR,  "device" ],
    [ S_IFBLK,  "device" ],
);
my %ops = (
    read       => \&read_file,
    write      => \&write_file,
    mode       => \&folder_mode,
    folder     => \&ensure_folder,
    "is-filled" => \&is_filled,
);
my $input = "";
my $groups;    # user name => its supplementary groups, read once

umask 077;
while ( defined( my $header = take_line() ) ) {
    my ( $op, $uid, $gid, $mode, @sizes ) = $header =~ REQUEST or die "no request\n";
    my ( $user, $base, $path, $data ) = map { take_bytes($_) } @sizes;
    my $work = $ops{$op} or die "no such operation\n";
    become( $uid, $gid, groups_of($user) );
    my @answer = $work->( $base, $path, oct $mode, $data );
    become_root();
    answer(@answer);
}

sub become {
    my ( $uid, $gid, @groups ) = @_;
    $) = join " ", $gid, $gid, @groups;
    $> = $uid;
    my ( $now, @rest ) = split / /, $);
    my %wanted = map { $_ => 1 } $gid, @groups;
    my %given  = map { $_ => 1 } @rest;
    die "cannot become uid $uid\n"
      if $> != $uid || $< != 0 || $now != $gid || "@{[sort keys %given]}" ne "@{[sort keys %wanted]}";
}

sub groups_of {
    my ($user) = @_;
    if ( !$groups ) {
        $groups = {};
        while ( my ( undef, undef, $gid, $members ) = getgrent ) {
            push @{ $groups->{$_} }, $gid for split / /, $members;
        }
    }
    return @{ $groups->{$user} // [] };
}

sub become_root {
    $> = 0;
    $) = "0 0";
    die "cannot become root again\n" if $> != 0 || $) !~ /\A0( 0)*\z/;
    chdir "/" or die "no root folder\n";
}

# Each operation below returns code, mode and bytes.

sub read_file {
    my ( $base, $path ) = @_;
    my $name = enter( $base, $path, 0 ) // return failed();
    # O_NONBLOCK: else a pipe would wait for its writer, and a leased file for its holder.
    sysopen my $file, $name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK or return not_opened($name);
    my @stat = stat $file or return failed();
    return ( "kind", 0, kind_of( $stat[2] ) ) if !S_ISREG( $stat[2] );
    return ( "kind", 0, "file of more than 1 MiB" ) if $stat[7] > READ_BYTES_MAX;
    my $text = "";
    while ( length $text <= READ_BYTES_MAX ) {
        my $count = sysread( $file, $text, READ_BYTES_MAX + 1 - length $text, length $text )
          // return failed();
        return ( "ok", S_IMODE( $stat[2] ), $text ) if $count == 0;
    }
    return ( "kind", 0, "file of more than 1 MiB" );
}

sub write_file {
    my ( $base, $path, $mode, $data ) = @_;
    my $name = enter( $base, $path, 1 ) // return failed();
    my @there = lstat $name;
    return ( "kind", 0, "folder" ) if @there && S_ISDIR( $there[2] );
    # A fixed temporary name for each file, so that the next write removes the rest of a broken one.
    my $temp = ".$name" . TEMP_SUFFIX;
    unlink $temp;
    sysopen my $file, $temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600 or return failed();
    my $is_done =
         put( $file, $data )
      && chmod( $mode, $file )
      && IO::Handle::sync($file)
      && close($file)
      && rename( $temp, $name );
    return ( "ok", $mode, "" ) if $is_done;
    my @why = failed();
    unlink $temp;
    return @why;
}

sub folder_mode {
    my ( $base, $path ) = @_;
    enter_folder( $base, $path, 0 ) or return failed();
    my @stat = stat "." or return failed();
    return ( "ok", S_IMODE( $stat[2] ), "" );
}

sub ensure_folder {
    my ( $base, $path, $mode ) = @_;
    enter_folder( $base, $path, 1 ) or return failed();
    chmod $mode, "." or return failed();
    return ( "ok", $mode, "" );
}

# Stops at the first entry, because a folder may contain any number of them.
sub is_filled {
    my ( $base, $path ) = @_;
    enter_folder( $base, $path, 0 ) or return failed();
    opendir my $folder, "." or return failed();
    while ( defined( my $name = readdir $folder ) ) {
        return ( "ok", 1, "" ) if $name ne "." && $name ne "..";
    }
    return ( "ok", 0, "" );
}

# Enters the folder of a path, and creates missing folders if $makes is true. Returns the last name,
# or undef on failure.
sub enter {
    my ( $base, $path, $makes ) = @_;
    my ( $folder, $name ) = $path =~ m{\A(?:(.*)/)?([^/]+)\z}s or die "no path\n";
    return enter_folder( $base, $folder // "", $makes ) ? $name : undef;
}

sub enter_folder {
    my ( $base, $path, $makes ) = @_;
    chdir $base or return 0;
    for my $name ( split m{/}, $path, -1 ) {
        die "no path\n" if $name =~ /\A\.{0,2}\z/;
        my $folder = open_folder($name);
        if ( !$folder && $!{ENOENT} && $makes ) {
            mkdir $name, 0700 or $!{EEXIST} or return 0;
            $folder = open_folder($name);
        }
        return 0 if !$folder || !chdir $folder;
    }
    return 1;
}

sub open_folder {
    my ($name) = @_;
    my $folder;
    return sysopen( $folder, $name, O_PATH | O_DIRECTORY | O_NOFOLLOW ) ? $folder : undef;
}

sub put {
    my ( $file, $data ) = @_;
    for ( my $at = 0 ; $at < length $data ; ) {
        $at += syswrite( $file, $data, length($data) - $at, $at ) // return 0;
    }
    return 1;
}

# Returns the type of anything but a regular file: a link fails with ELOOP, a socket with ENXIO.
sub not_opened {
    my ($name) = @_;
    my @why  = failed();
    my @stat = lstat $name or return @why;
    return S_ISREG( $stat[2] ) ? @why : ( "kind", 0, kind_of( $stat[2] ) );
}

sub kind_of {
    my ($mode) = @_;
    for my $kind (@kinds) { return $kind->[1] if S_IFMT($mode) == $kind->[0] }
    return "special file";
}

sub failed {
    my ( $number, $text ) = ( $! + 0, "$!" );
    return ( "absent", 0, "" ) if $!{ENOENT};
    return ( $errno_name{$number} // "EIO", 0, $text );
}

sub answer {
    my ( $code, $mode, $bytes ) = @_;
    put( \*STDOUT, sprintf( "%s %o %d\n", $code, $mode, length $bytes ) . $bytes )
      or die "no reader\n";
}

sub take_line {
    my $end;
    while ( ( $end = index $input, "\n" ) < 0 ) {
        die "no end of a header\n" if length $input > HEADER_BYTES_MAX;
        more() or return undef;
    }
    my $line = substr $input, 0, $end + 1, "";
    chop $line;
    return $line;
}

sub take_bytes {
    my ($count) = @_;
    die "too long\n" if $count > REQUEST_BYTES_MAX;
    while ( length $input < $count ) { more() or die "cut short\n" }
    return substr $input, 0, $count, "";
}

sub more {
    my $count = sysread( STDIN, $input, 65_536, length $input ) // die "cannot read\n";
    return $count > 0;
}
